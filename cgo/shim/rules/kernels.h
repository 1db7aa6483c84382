// Kernels in the place of libtorch's that stand in files of their own.
#pragma once

namespace torch {
class Library;
}

namespace tg {

void replace_kernels_of_images(torch::Library& library);

}  // namespace tg
