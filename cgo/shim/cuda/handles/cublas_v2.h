// What libtorch's headers name of cuBLAS. Its own header comes in a wheel of 400 MB, and nothing here calls it.
#pragma once

using cublasHandle_t = struct cublasContext*;
enum cublasStatus_t : int;
