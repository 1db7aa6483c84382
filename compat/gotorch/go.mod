module github.com/wangkuiyi/gotorch

go 1.26.0

require (
	github.com/libtorch-go/libtorch v0.0.0
	gocv.io/x/gocv v0.24.0
	github.com/stretchr/testify v1.12.1
	github.com/x448/float16 v0.8.4
)

require (
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sync v0.24.0 // indirect
)

replace (
	github.com/libtorch-go/libtorch => ../..
	gocv.io/x/gocv => ../gocv
)

// The tests of transforms seed the source that all share.
godebug randseednop=0
