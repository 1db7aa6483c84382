#include "uint8.h"

#include "instructions.h"

#if defined(TG_VNNI)
#include "bytes.h"
#include "products.h"

namespace tg::uint8 {
namespace {

// With so many rows of sums, registers are full.
constexpr Kernels all = {{direct<1, 10>, direct<2, 10>, direct<3, 8>, direct<4, 6>}, depthwise, quantize, sums, scale, gather};

}  // namespace

extern const Kernels* const vnni = &all;

}  // namespace tg::uint8
#else
namespace tg::uint8 {

extern const Kernels* const vnni = nullptr;

}  // namespace tg::uint8
#endif
