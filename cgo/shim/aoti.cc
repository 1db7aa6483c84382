// Packages of AOTInductor: a library of machine code with its weights, opened and run by libtorch's runner for the device it was
// compiled for. Only this file includes its headers.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "entries.h"
#include "library.h"

namespace tg {
namespace {

using Runner = std::unique_ptr<torch::inductor::AOTIModelContainerRunner>;

torch::inductor::AOTIModelContainerRunner& runner(Args& a) { return *a.object<Runner>("package"); }

// Constants in the order of their names.
std::vector<std::pair<std::string, at::Tensor>> constants(torch::inductor::AOTIModelContainerRunner& from) {
	auto map = from.extract_constants_map(false);
	std::vector<std::pair<std::string, at::Tensor>> list(map.begin(), map.end());
	std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
	return list;
}

// A tensor that lives on when the package is closed: a constant lies in the package's memory, which no tensor keeps.
at::Tensor lasting(at::Tensor&& t) {
	bool lent = t.defined() && t.has_storage() && t.storage().nbytes() > 0 && t.storage().data_ptr().get_context() == nullptr;
	return lent ? t.clone() : std::move(t);
}

}  // namespace

namespace entry {

// aoti_load(the library's path, how many runs at once, the type of the device, the device, the folder of the package's files, the
// file of the weights if there is one) -> package
void aoti_load(Args& a, Results& r) {
	std::string library(a.string());
	auto runners = static_cast<size_t>(a.next());
	std::string type(a.string());
	std::string device(a.string());
	std::string folder(a.string());
	auto weights = a.opt_string();
	auto& known = torch::inductor::getAOTIModelRunnerRegistry();
	auto make = known.find(type);
	TORCH_CHECK_NOT_IMPLEMENTED(make != known.end(), "this libtorch runs no packages for the device ", type);
	Runner made = make->second(library, runners, device, folder, false);
	if (weights) {
		made->update_constant_buffer_from_blob(std::string(*weights));
	}
	r.object<Runner>(std::move(made));
}

// aoti_describe(package) -> lines: how the inputs are nested, how the outputs are, and for each constant its name, dtype and sizes
void aoti_describe(Args& a, Results& r) {
	auto& package = runner(a);
	std::ostringstream out;
	for (const auto& spec : package.get_call_spec()) {
		out << spec << '\n';
	}
	for (const auto& [name, t] : constants(package)) {
		out << name << '\t' << static_cast<int>(t.scalar_type());
		for (auto size : t.sizes()) {
			out << '\t' << size;
		}
		out << '\n';
	}
	r.string(out.str());
}

// aoti_constant(package, name) -> a copy of the constant
void aoti_constant(Args& a, Results& r) {
	auto& package = runner(a);
	auto name = a.string();
	for (const auto& [own, t] : constants(package)) {
		if (own == name) {
			at::NoGradGuard none;
			r.tensor(t.is_mkldnn() ? t.to_dense() : t.clone());
			return;
		}
	}
	TORCH_CHECK_VALUE(false, "the package has no constant ", name);
}

// aoti_run(package, inputs) -> the outputs
void aoti_run(Args& a, Results& r) {
	Calling calling;
	auto& package = runner(a);
	auto inputs = a.tensors();
	at::NoGradGuard none;
	auto outputs = package.run(inputs.vec());
	for (auto& t : outputs) {
		t = lasting(std::move(t));
	}
	r.tensors(std::move(outputs));
}

}  // namespace entry
}  // namespace tg
