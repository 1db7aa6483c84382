// What libtorch's headers name of cuBLASLt: see cublas_v2.h.
#pragma once

using cublasLtHandle_t = struct cublasLtContext*;
