// Package inference is the Open Inference Protocol's definition for gRPC, as published, Triton's of a model's configuration, and what is
// generated from them:
//
//	protoc --go_out=. --connect-go_out=. --go_opt=paths=source_relative --connect-go_opt=paths=source_relative,package_suffix,simple \
//		--go_opt=$M --connect-go_opt=$M open_inference_grpc.proto   # with M=Mopen_inference_grpc.proto=IMPORT/PATH/OF/THIS/PACKAGE
//
// and with --go_out alone model_config.proto and model_repository.proto, by protoc-gen-go v1.36.12 and protoc-gen-connect-go v1.21.1.
package inference
