// TorchScript: modules that libtorch reads, runs and writes. Only this file includes the compiler's headers.
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/python_print.h>
#include <unistd.h>

#include <cerrno>
#include <istream>
#include <ostream>
#include <set>
#include <sstream>
#include <streambuf>

#include "boxed.h"
#include "entries.h"
#include "library.h"

namespace tg {
namespace {

using c10::IValue;
using c10::TypeKind;
using torch::jit::Module;
using torch::jit::Node;

Module& script(Args& a) { return a.object<Module>("module"); }

// Memory is a file in memory.
class Memory final : public std::streambuf {
 public:
	Memory(char* data, size_t size) { setg(data, data, data + size); }

 protected:
	pos_type seekoff(off_type by, std::ios_base::seekdir from, std::ios_base::openmode which) override {
		off_type base = from == std::ios_base::beg ? 0 : from == std::ios_base::cur ? gptr() - eback() : egptr() - eback();
		return seekpos(pos_type(base + by), which);
	}
	pos_type seekpos(pos_type to, std::ios_base::openmode) override {
		off_type at = to;
		if (at < 0 || at > egptr() - eback()) {
			return pos_type(off_type(-1));
		}
		setg(eback(), eback() + at, egptr());
		return to;
	}
};

// Outlet writes to a file. To libtorch writing never fails: its writer writes on when it is destroyed, and an exception there
// would end the process. What went wrong is told at the end.
class Outlet final : public std::streambuf {
 public:
	explicit Outlet(int file) : file_(file) {}
	int error() const { return error_; }

 protected:
	std::streamsize xsputn(const char* data, std::streamsize size) override {
		for (std::streamsize done = 0; done < size && error_ == 0;) {
			auto n = ::write(file_, data + done, static_cast<size_t>(size - done));
			if (n >= 0) {
				done += n;
			} else if (errno != EINTR) {
				error_ = errno;
			}
		}
		return size;
	}
	int_type overflow(int_type c) override {
		char one = traits_type::to_char_type(c);
		xsputn(&one, 1);
		return traits_type::not_eof(c);
	}

 private:
	int file_;
	int error_ = 0;
};

// A list or dict that was made where it is used is nobody else's.
bool is_own(const torch::jit::Value* v) {
	auto kind = v->node()->kind();
	return kind == c10::prim::ListConstruct || kind == c10::prim::DictConstruct || kind == c10::aten::list || kind == c10::prim::ListUnpack ||
	       kind == c10::prim::Constant;
}

bool changes(const torch::jit::Block* block);

bool changes(const Node* node) {
	if (node->kind() == c10::prim::SetAttr) {
		return true;
	}
	const auto* schema = node->maybeSchema();
	for (size_t i = 0; schema != nullptr && i < node->inputs().size() && i < schema->arguments().size(); i++) {
		auto kind = node->input(i)->type()->kind();
		if (writes(schema->arguments()[i]) && (kind == TypeKind::ListType || kind == TypeKind::DictType) && !is_own(node->input(i))) {
			return true;
		}
	}
	return std::any_of(node->blocks().begin(), node->blocks().end(), [](const torch::jit::Block* b) { return changes(b); });
}

bool changes(const torch::jit::Block* block) {
	return std::any_of(block->nodes().begin(), block->nodes().end(), [](const Node* node) { return changes(node); });
}

// Whether a function may change what modules are made of: an attribute, or a list or dict in one.
bool changes(const torch::jit::CompilationUnit& unit) {
	for (auto* f : unit.get_functions()) {
		auto* function = f == nullptr ? nullptr : torch::jit::tryToGraphFunction(*f);  // freezing leaves gaps
		if (function == nullptr) {
			continue;
		}
		function->ensure_defined();
		if (changes(function->graph()->block())) {
			return true;
		}
	}
	return false;
}

bool changes(const Module& m) {
	std::set<const torch::jit::CompilationUnit*> seen;
	for (const auto& own : m.modules()) {
		auto unit = own._ivalue()->compilation_unit();
		if (seen.insert(unit.get()).second && changes(*unit)) {
			return true;
		}
	}
	return false;
}

// line adds the words of one line, with tabs between them.
template <class... Words>
void line(std::ostream& out, const char* what, const Words&... words) {
	out << what;
	((out << '\t' << words), ...);
	out << '\n';
}

void write_argument(std::ostream& out, const c10::Argument& x) {
	std::ostringstream value;
	if (x.default_value()) {
		value << *x.default_value();
	}
	line(out, "argument", x.name(), x.type()->annotation_str(), x.default_value() ? "default" : "", value.str());
}

void write_methods(std::ostream& out, const Module& m) {
	for (const auto& method : m.get_methods()) {
		const auto& schema = method.function().getSchema();
		std::ostringstream text;
		text << schema;
		line(out, "method", method.name(), text.str());
		for (size_t i = 1; i < schema.arguments().size(); i++) {
			write_argument(out, schema.arguments()[i]);
		}
		for (const auto& x : schema.returns()) {
			line(out, "result", x.name(), x.type()->annotation_str());
		}
	}
}

void write_attributes(std::ostream& out, const Module& m) {
	auto type = m.type();
	for (size_t i = 0; i < type->numAttributes(); i++) {
		const auto& of = type->getAttribute(i);
		const char* what = of->is_module() ? "module" : type->is_parameter(i) ? "parameter" : type->is_buffer(i) ? "buffer" : "attribute";
		line(out, what, type->getAttributeName(i), of->annotation_str());
	}
	for (size_t i = 0; i < type->numConstants(); i++) {
		line(out, "constant", type->getConstantName(i), type->getConstant(i).type()->annotation_str());
	}
}

// The tensors that a state dict has, in Python's order: a module's parameters, its buffers, then those of the modules in it.
void collect(const Module& m, const std::string& prefix, std::set<const void*>& seen, std::vector<IValue>& list) {
	auto type = m.type();
	for (bool parameters : {true, false}) {
		for (size_t i = 0; i < type->numAttributes(); i++) {
			auto v = m._ivalue()->getSlot(i);
			if ((parameters ? type->is_parameter(i) : type->is_buffer(i)) && v.isTensor() && v.toTensor().defined()) {
				bool first = seen.insert(v.toTensor().unsafeGetTensorImpl()).second;
				list.insert(list.end(), {parameters, first, prefix + type->getAttributeName(i), std::move(v)});
			}
		}
	}
	for (size_t i = 0; i < type->numAttributes(); i++) {
		if (type->getAttribute(i)->is_module()) {
			collect(Module(m._ivalue()->getSlot(i).toObject()), prefix + type->getAttributeName(i) + ".", seen, list);
		}
	}
}

void write_tree(std::ostream& out, const Module& m, const std::string& path) {
	line(out, "module", path, m.type()->name()->qualifiedName());
	auto type = m.type();
	for (size_t i = 0; i < type->numAttributes(); i++) {
		if (type->getAttribute(i)->is_module()) {
			write_tree(out, Module(m._ivalue()->getSlot(i).toObject()), path.empty() ? type->getAttributeName(i) : path + "." + type->getAttributeName(i));
		}
	}
}

// Refuses a file that puts into an attribute what its class does not declare: code that was compiled for the class would
// look for attributes of another object beyond its end.
void check_slots(const c10::ivalue::Object& object) {
	auto type = object.type();
	TORCH_CHECK(object.slots().size() >= type->numAttributes(), "an object of ", type->annotation_str(), " lacks attributes");
	for (size_t i = 0; i < type->numAttributes(); i++) {
		const auto& declared = type->getAttribute(i);
		const auto& v = object.getSlot(i);
		auto kind = declared->kind();
		bool fits = kind == TypeKind::ClassType || kind == TypeKind::InterfaceType ? v.isObject() && v.type()->isSubtypeOf(*declared)
		            : kind == TypeKind::TensorType                                ? v.isTensor()
		                                                                          : true;
		TORCH_CHECK_TYPE(fits, "attribute ", type->getAttributeName(i), " of ", type->annotation_str(), " is ", v.type()->annotation_str(), ", expected ",
		                 declared->annotation_str());
		if (v.isObject()) {
			check_slots(v.toObjectRef());
		}
	}
}

std::vector<std::string> read_names(Args& a) {
	std::vector<std::string> names(a.next());
	for (auto& name : names) {
		name = a.string();
	}
	return names;
}

// A method by its name, with TypeError where there is none.
torch::jit::Method find_method(const Module& m, const std::string& name) {
	auto method = m.find_method(name);
	TORCH_CHECK_TYPE(method.has_value(), "the module ", m.type()->name()->name(), " has no method ", name);
	return *method;
}

void check_attribute(const Module& m, const std::string& name) {
	TORCH_CHECK_TYPE(m.hasattr(name), "the module ", m.type()->name()->name(), " has no attribute ", name);
}

}  // namespace

namespace entry {

// script_load(number of the bytes in the data, device or none, whether to read where the source comes from) -> module
void script_load(Args& a, Results& r) {
	Memory memory(static_cast<char*>(a.data), static_cast<size_t>(a.next()));
	std::istream in(&memory);
	auto device = a.opt_device();
	Module m = torch::jit::load(in, device, a.boolean());
	check_slots(*m._ivalue());
	r.object<Module>(std::move(m));
}

// script_define(name, source, parameters, buffers, attributes, modules; each as names and values) -> module
void script_define(Args& a, Results& r) {
	Module m(c10::QualifiedName("__torch__." + std::string(a.string())));
	std::string source(a.string());
	m.register_attribute("training", c10::BoolType::get(), true);
	for (bool buffers : {false, true}) {
		for (const auto& name : read_names(a)) {
			m.register_parameter(name, a.needed(name.c_str()), buffers);
		}
	}
	for (const auto& name : read_names(a)) {
		auto v = read_value(a, c10::AnyType::get());
		TORCH_CHECK_TYPE(!v.isNone(), "attribute ", name, " is nil, of which no type is known");
		m.register_attribute(name, v.type(), v);
	}
	for (const auto& name : read_names(a)) {
		m.register_module(name, script(a));
	}
	m.define(source);
	r.object<Module>(std::move(m));
}

// script_call(module, method, positional values, named values) -> the result as a boxed value
void script_call(Args& a, Results& r) {
	Calling calling;
	auto& m = script(a);
	auto method = find_method(m, std::string(a.string()));
	auto stack = read_arguments(a, method.function().getSchema(), m._ivalue());
	method.function().run(stack);
	put_boxed(r, stack);
}

// script_describe(module) -> lines: its class; whether its methods change it; its methods, each followed by its arguments and
// results; its attributes by their kinds
void script_describe(Args& a, Results& r) {
	auto& m = script(a);
	std::ostringstream out;
	line(out, "class", m.type()->name()->qualifiedName());
	if (changes(m)) {
		line(out, "changes");
	}
	write_methods(out, m);
	write_attributes(out, m);
	r.string(out.str());
}

// script_tree(module) -> a line for each module in it: its path and its class
void script_tree(Args& a, Results& r) {
	std::ostringstream out;
	write_tree(out, script(a), "");
	r.string(out.str());
}

// script_tensors(module) -> for each tensor of the state dict whether it is a parameter, whether it comes for the first time, its name,
// and the tensor itself
void script_tensors(Args& a, Results& r) {
	std::set<const void*> seen;
	std::vector<IValue> list;
	collect(script(a), "", seen, list);
	put_boxed(r, list);
}

// script_module(module, names of attributes, one in the other) -> module
void script_module(Args& a, Results& r) {
	Module m = script(a);
	for (const auto& name : read_names(a)) {
		check_attribute(m, name);
		auto v = m.attr(name);
		TORCH_CHECK_TYPE(v.isModule(), name, " is no module, but ", v.type()->annotation_str());
		m = v.toModule();
	}
	r.object<Module>(std::move(m));
}

// script_attribute(module, name) -> its value as a boxed value
void script_attribute(Args& a, Results& r) {
	auto& m = script(a);
	std::string name(a.string());
	check_attribute(m, name);
	put_boxed(r, m.attr(name));
}

// script_set_attribute(module, name, value)
void script_set_attribute(Args& a, Results&) {
	auto& m = script(a);
	std::string name(a.string());
	check_attribute(m, name);
	auto slot = m.type()->findAttributeSlot(name);
	TORCH_CHECK_TYPE(slot.has_value(), name, " is a constant of the module's code");
	auto declared = m.type()->getAttribute(*slot);
	auto v = read_value(a, declared);
	TORCH_CHECK_TYPE(v.type()->isSubtypeOf(*declared), "expected ", declared->annotation_str(), " for attribute ", name, ", got ", v.type()->annotation_str());
	m.setattr(name, std::move(v));
}

// script_train(module, whether it is trained)
void script_train(Args& a, Results&) {
	auto& m = script(a);
	bool on = a.boolean();
	TORCH_CHECK_VALUE(m.hasattr("training"), "the module has no mode: it was frozen, or saved without one");
	for (auto own : m.modules()) {
		if (auto slot = own.type()->findAttributeSlot("training")) {
			own._ivalue()->setSlot(*slot, on);
		}
	}
}

// script_to(module, device or none, dtype of what is floating-point or none). libtorch's own method would turn whole numbers into others, too.
void script_to(Args& a, Results&) {
	auto& m = script(a);
	auto device = a.opt_device();
	auto dtype = a.opt_dtype();
	std::set<const void*> seen;
	std::vector<IValue> list;
	collect(m, "", seen, list);
	auto moved = [&](const at::Tensor& t) {
		bool floating = at::isFloatingType(t.scalar_type()) || at::isComplexType(t.scalar_type());
		return t.detach().to(device.value_or(t.device()), dtype && floating ? *dtype : t.scalar_type());
	};
	for (const auto& v : list) {
		if (v.isTensor()) {
			at::Tensor t = v.toTensor();
			t.set_data(moved(t));
			if (t.grad().defined()) {
				t.mutable_grad().set_data(moved(t.mutable_grad()));
			}
		}
	}
}

// script_freeze(module, attributes and methods that stay) -> module
void script_freeze(Args& a, Results& r) {
	auto& m = script(a);
	r.object<Module>(torch::jit::freeze(m, read_names(a)));
}

// script_optimize(module, methods other than forward) -> module
void script_optimize(Args& a, Results& r) {
	Module m = script(a);
	r.object<Module>(torch::jit::optimize_for_inference(m, read_names(a)));
}

// script_save(module, open file) -> the number of the system's error, or 0
void script_save(Args& a, Results& r) {
	auto& m = script(a);
	Outlet outlet(static_cast<int>(a.integer()));
	std::ostream out(&outlet);
	torch::jit::ExtraFilesMap extra;
	for (const auto& name : read_names(a)) {
		extra[name] = a.string();
	}
	m.save(out, extra);
	r.integer(outlet.error());
}

// script_code(module, method) -> its source
void script_code(Args& a, Results& r) {
	auto& m = script(a);
	auto method = find_method(m, std::string(a.string()));
	std::vector<IValue> constants;
	torch::jit::PrintDepsTable classes;
	torch::jit::PythonPrint print(constants, classes);
	print.printMethod(method.function());
	r.string(print.str());
}

// script_graph(module, method) -> the operators that run, with calls of other methods resolved
void script_graph(Args& a, Results& r) {
	auto& m = script(a);
	auto method = find_method(m, std::string(a.string()));
	auto graph = method.graph()->copy();
	torch::jit::Inline(*graph);
	r.string(graph->toString(/*print_source_locations=*/false));
}

}  // namespace entry
}  // namespace tg
