module github.com/libtorch-go/libtorch

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	github.com/stretchr/testify v1.12.1
	github.com/wangkuiyi/gotorch v0.0.0-20201028015551-9afed2f3ad7b
	go.opentelemetry.io/proto/slim/otlp v1.11.1
	go.uber.org/goleak v1.3.0
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/image v0.40.0
	golang.org/x/sync v0.24.0
	google.golang.org/protobuf v1.36.12
)
