// What libtorch's headers name of cuSOLVER: see cublas_v2.h.
#pragma once

enum cusolverStatus_t : int;
