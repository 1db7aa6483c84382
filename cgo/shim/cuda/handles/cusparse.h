// What libtorch's headers name of cuSPARSE: see cublas_v2.h.
#pragma once

using cusparseHandle_t = struct cusparseContext*;
enum cusparseStatus_t : int;
