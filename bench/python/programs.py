"""Python's side of the table of programs: obeys one JSON command a line, answers with one line.

    {"cmd": "write", "case": NETWORK, "file": DIR}              -> {}
    {"cmd": "load", "file": DIR}                                -> {}
    {"cmd": "check", "case": CONTENDER}                         -> {"result": its output}
    {"cmd": "run", "case": CONTENDER, "n": N}                   -> {"wall": ns, "cpu": ns}

A contender is one of CONTENDERS; the network is that of the folder: network.pt2, network.onnx and calls.npz, of which
inputs.safetensors is the same for Go. Outputs are numbers with blanks between them. One process serves contenders that share a
runtime. A failed command answers {"error": text}.
"""

import contextlib
import io
import json
import os
import struct
import sys
import time
import traceback

import numpy

DEVICE = os.environ.get("BENCH_DEVICE", "cpu")  # where torch computes
ON_CARD = DEVICE != "cpu"
THREADS = int(os.environ.get("OMP_NUM_THREADS", 1))


def read_calls(folder):
    """The inputs of each call, the measured one first."""
    with numpy.load(os.path.join(folder, "calls.npz")) as file:
        calls = {}
        for name in file.files:
            call, at = map(int, name.split("."))
            calls.setdefault(call, {})[at] = file[name]
    return [[calls[c][i] for i in sorted(calls[c])] for c in sorted(calls)]


def write_safetensors(path, arrays):
    header, data = {}, b""
    for name, a in arrays.items():
        raw = a.tobytes()
        header[name] = {"dtype": {"float32": "F32", "int64": "I64"}[str(a.dtype)], "shape": list(a.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def write(name, folder):
    import networks
    import torch

    network, calls = networks.make(name)
    arrays = {f"{c}.{i}": x.numpy() for c, call in enumerate(calls) for i, x in enumerate(call)}
    numpy.savez(os.path.join(folder, "calls.npz"), **arrays)
    write_safetensors(os.path.join(folder, "inputs.safetensors"), arrays)
    with torch.no_grad():
        torch.export.save(torch.export.export(network, calls[0]), os.path.join(folder, "network.pt2"))
        if ON_CARD:
            return
        torch.onnx.export(network, calls[0], os.path.join(folder, "network.onnx"), dynamo=True, external_data=False, verbose=False)


def program(folder):
    import torch
    from torch.export.passes import move_to_device_pass

    own = torch.export.load(os.path.join(folder, "network.pt2"))
    return move_to_device_pass(own, DEVICE) if ON_CARD else own


def channels_last(dims):
    """The format of images, or of volumes, with their channels last."""
    import torch

    return torch.channels_last_3d if dims == 5 else torch.channels_last


def module(folder, **dtype):
    """The network, whose weights have their channels last."""
    network = program(folder).module()
    dims = max((p.dim() for p in network.parameters()), default=0)
    return network.to(memory_format=channels_last(dims), **dtype)


def tensors(folder, last=False):
    """The inputs of the measured call, images and volumes with their channels last if they may."""
    import torch

    def format(x):
        return {"memory_format": channels_last(x.dim())} if last and x.dim() in (4, 5) else {}

    return [x.to(DEVICE, **format(x)) for x in map(torch.from_numpy, read_calls(folder)[0])]


def of_torch(call, inputs):
    import torch

    torch.backends.cudnn.benchmark = True

    def run():
        with torch.inference_mode():
            output = call(*inputs)
        if ON_CARD:
            torch.cuda.synchronize()
        return output

    return run, lambda: run().cpu().numpy()


def eager(folder, **dtype):
    network = module(folder, **dtype)
    inputs = [x.to(**dtype) if x.is_floating_point() else x for x in tensors(folder, last=True)]
    return of_torch(lambda *inputs: network(*inputs).float(), inputs)


def inductor(folder, **dtype):
    import torch
    import torch._inductor.config as config

    config.freezing = True
    network = module(folder, **dtype)
    inputs = [x.to(**dtype) if x.is_floating_point() else x for x in tensors(folder, last=True)]
    compiled = torch.compile(network, mode="reduce-overhead" if ON_CARD else None)
    return of_torch(lambda *inputs: compiled(*inputs).float(), inputs)


def half(contender, name):
    """A contender of torch with weights and inputs in bfloat16 or float16."""
    def of(folder):
        import torch

        return contender(folder, dtype=getattr(torch, name))

    return of


def aoti(folder):
    import torch
    from torch._inductor import aoti_compile_and_package, aoti_load_package

    path = os.path.join(folder, "package.pt2")
    if not os.path.exists(path):
        with torch.no_grad():
            aoti_compile_and_package(program(folder), package_path=path, inductor_configs={"freezing": True})
    return of_torch(aoti_load_package(path, run_single_threaded=True), tensors(folder))


def onnx_session(folder, file):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = THREADS
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(os.path.join(folder, file), options, providers=["CPUExecutionProvider"])
    inputs = dict(zip([i.name for i in session.get_inputs()], read_calls(folder)[0], strict=True))
    run = lambda: session.run(None, inputs)[0]
    return run, run


def onnx_float(folder):
    return onnx_session(folder, "network.onnx")


def attends(folder):
    """Whether a network is a transformer."""
    import onnx

    return any(n.op_type == "Softmax" for n in onnx.load(os.path.join(folder, "network.onnx"), load_external_data=False).graph.node)


def quantize(folder):
    """int8.onnx: weights by channels, activations with ranges of the samples."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    path = os.path.join(folder, "int8.onnx")
    if os.path.exists(path):
        return "int8.onnx"
    plain = os.path.join(folder, "plain.onnx")
    quant_pre_process(os.path.join(folder, "network.onnx"), plain, skip_symbolic_shape=True)
    calls = read_calls(folder)[1:]

    class Reader(CalibrationDataReader):
        def __init__(self):
            import onnxruntime

            names = [i.name for i in onnxruntime.InferenceSession(plain, providers=["CPUExecutionProvider"]).get_inputs()]
            self.calls = iter([dict(zip(names, call, strict=True)) for call in calls])

        def get_next(self):
            return next(self.calls, None)

    kinds = ["MatMul", "Gemm"] if attends(folder) else None  # all that can be
    quantize_static(plain, path, Reader(), quant_format=QuantFormat.QDQ, op_types_to_quantize=kinds, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, reduce_range=not whole_products())
    return "int8.onnx"


def whole_products():
    """Whether the processor adds products of bytes without loss; otherwise weights need seven bits."""
    with open("/proc/cpuinfo") as f:
        flags = f.read()
    return "avx512_vnni" in flags or "avx_vnni" in flags


def onnx_int8(folder):
    """As ONNX Runtime's manual advises: transformers with ranges found while they run, other networks with those of samples."""
    if not attends(folder):
        return onnx_session(folder, quantize(folder))
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    path, plain = os.path.join(folder, "dynamic.onnx"), os.path.join(folder, "plain.onnx")
    if not os.path.exists(path):
        quant_pre_process(os.path.join(folder, "network.onnx"), plain, skip_symbolic_shape=True)
        quantize_dynamic(plain, path, per_channel=True, weight_type=QuantType.QInt8, reduce_range=not whole_products())
    return onnx_session(folder, "dynamic.onnx")


def openvino_request(folder, file, precision="f32"):
    import openvino

    settings = {"INFERENCE_NUM_THREADS": THREADS, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
    model = openvino.Core().compile_model(os.path.join(folder, file), "CPU", settings)
    request = model.create_infer_request()
    for i, x in enumerate(read_calls(folder)[0]):
        request.set_input_tensor(i, openvino.Tensor(x))

    def check():
        request.infer()
        return request.get_output_tensor(0).data.copy()

    return request.infer, check


def openvino_float(folder):
    return openvino_request(folder, "network.onnx")


def openvino_bfloat16(folder):
    return openvino_request(folder, "network.onnx", "bf16")


def openvino_int8(folder):
    return openvino_request(folder, quantize(folder))


CONTENDERS = {
    "Python": eager, "torch.compile": inductor, "AOTInductor": aoti, "ONNX Runtime": onnx_float, "OpenVINO": openvino_float,
    "Python bfloat16": half(eager, "bfloat16"), "torch.compile bfloat16": half(inductor, "bfloat16"), "OpenVINO bfloat16": openvino_bfloat16,
    "Python float16": half(eager, "float16"), "torch.compile float16": half(inductor, "float16"),
    "ONNX Runtime int8": onnx_int8, "OpenVINO int8": openvino_int8,
}


def text(output):
    return " ".join(f"{v:.9g}" for v in output.reshape(-1).tolist())


class Peer:
    def __init__(self):
        self.folder, self.cases = None, {}

    def case(self, name):
        if name not in self.cases:
            self.cases[name] = CONTENDERS[name](self.folder)
        return self.cases[name]

    def write(self, request):
        write(request["case"], request["file"])
        return {}

    def load(self, request):
        self.folder = request["file"]
        return {}

    def check(self, request):
        _, check = self.case(request["case"])
        return {"result": text(check())}

    def run(self, request):
        (run, _), n = self.case(request["case"]), request["n"]
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(n):
            run()
        return {"cpu": time.process_time_ns() - cpu, "wall": time.perf_counter_ns() - wall}


def main():
    peer, answers = Peer(), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the runtimes print is no answer
    for line in sys.stdin:
        request = json.loads(line)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                reply = getattr(peer, request["cmd"])(request)
        except Exception:
            reply = {"error": traceback.format_exc()}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
