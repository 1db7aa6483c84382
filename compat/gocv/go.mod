module gocv.io/x/gocv

go 1.26.0
