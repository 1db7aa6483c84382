// Package cpp compiles operators written in C++ when the program runs, with the compiler of the
// machine, and loads them: torch.utils.cpp_extension.load_inline.
//
//	const source = `
//	using torch::stable::Tensor;
//
//	Tensor twice(const Tensor& x) {
//		bool is_float = x.scalar_type() == torch::headeronly::ScalarType::Float;
//		STD_TORCH_CHECK(x.is_contiguous() && is_float, "twice: x must be contiguous and float32");
//		Tensor y = torch::stable::empty_like(x);
//		auto in = static_cast<const float*>(x.const_data_ptr());
//		auto out = static_cast<float*>(y.mutable_data_ptr());
//		for (int64_t i = 0; i < x.numel(); i++) out[i] = 2 * in[i];
//		return y;
//	}
//
//	STABLE_TORCH_LIBRARY(mykernels, m) { m.def("twice(Tensor x) -> Tensor"); }
//	STABLE_TORCH_LIBRARY_IMPL(mykernels, CPU, m) { m.impl("twice", TORCH_BOX(&twice)); }
//	`
//
//	err := cpp.LoadInline("mykernels", source)
//	y := torch.Call("mykernels::twice", x)[0].(torch.Tensor)
//
// The source is one for libtorch's stable ABI: it includes nothing but torch/csrc/stable and
// torch/headeronly (the most used headers of which are included already), and needs no other
// library. Such sources compile in seconds, and what they throw comes back as a *torch.Error.
//
// A compiled library is kept in the user's cache folder, by a hash of the source, the flags, the
// compiler and the version of libtorch: a second run of the program compiles nothing.
package cpp
