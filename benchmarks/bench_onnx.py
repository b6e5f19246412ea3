"""Exporting to ONNX with both exporters, and running what they wrote in ONNX Runtime on the CPU."""

import contextlib
import importlib.util
import inspect
import io
import tempfile
import time
import warnings
from pathlib import Path

from .bench_backward import make_convnet
from .common import THREADS, metric, normal, numpy_or_skip, skip, start

AXES = ["fixed", "dynamic"]
#: An export with all that the dynamo exporter imports takes half a minute on two busy cores.
PATIENCE = 200.0


class Exporter:
    """A small convolutional network, and a batch of 8 images; the batch is fixed in the graph, or left open."""

    folder = None
    exporter = "TorchScript"

    def prepare(self, axes, threads="default"):
        self.torch, _ = start("cpu", threads)
        numpy_or_skip()
        self.require()
        self.model = make_convnet(self.torch, "cpu").eval()
        self.x = normal(self.torch, 8, 3, 32, 32)
        self.dynamic = axes == "dynamic"
        self.folder = tempfile.TemporaryDirectory(prefix="onnx-", dir=Path.cwd())
        self.file = Path(self.folder.name) / "model.onnx"

    def require(self):
        """Skips where a package or the exporter is missing."""
        dynamo = self.exporter == "dynamo"
        self.both = "dynamo" in inspect.signature(self.torch.onnx.export).parameters
        if dynamo and not self.both:
            skip("this release has no torch.onnx.export(dynamo=True)")
        for package in ["onnx", "onnxruntime", *(["onnxscript"] if dynamo else [])]:
            if importlib.util.find_spec(package) is None:
                skip(f"{package} is not installed")

    def export(self):
        options = {"input_names": ["x"], "output_names": ["y"]}
        if self.exporter == "dynamo":
            options.update(dynamo=True, verbose=False)
            if self.dynamic:
                options["dynamic_shapes"] = ({0: self.torch.export.Dim("batch")},)
        else:
            if self.both:
                options["dynamo"] = False
            if self.dynamic:
                options["dynamic_axes"] = {"x": {0: "batch"}, "y": {0: "batch"}}
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            self.torch.onnx.export(self.model, (self.x,), str(self.file), **options)

    def teardown(self, *_):
        if self.folder is not None:
            self.folder.cleanup()


class Export(Exporter):
    """To a file, the second time in a process: the first one imports."""

    param_names = ["axes"]
    params = [AXES]

    def setup(self, axes):
        self.prepare(axes)
        self.export()

    def seconds(self):
        begin = time.perf_counter()
        self.export()
        return time.perf_counter() - begin


class TorchScriptExport(Export):
    @metric(
        "onnx_export_time",
        unit="s",
        direction="lower",
        hot_path="H18",
        tags=["onnx"],
        requires=["onnx", "onnxruntime"],
        timeout=PATIENCE,
        summary="export of a small convolutional network by the TorchScript exporter",
    )
    def track_export(self, *_):
        return self.seconds()


class DynamoExport(Export):
    exporter = "dynamo"

    @metric(
        "onnx_dynamo_export_time",
        unit="s",
        direction="lower",
        hot_path="H18",
        tags=["onnx"],
        requires=["onnx", "onnxruntime", "onnxscript"],
        timeout=PATIENCE,
        summary="export of a small convolutional network by the dynamo exporter",
    )
    def track_export(self, *_):
        return self.seconds()


class Inference(Exporter):
    """A batch of 8 through what was exported, on ONNX Runtime's CPU provider with its own or with one thread."""

    param_names = ["threads", "axes"]
    params = [THREADS, AXES]

    def setup(self, threads, axes):
        self.prepare(axes, threads)
        self.export()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        if threads != "default":
            options.intra_op_num_threads = int(threads)
        self.session = onnxruntime.InferenceSession(str(self.file), options, providers=["CPUExecutionProvider"])
        self.inputs = {self.session.get_inputs()[0].name: self.x.numpy()}

    def run(self):
        self.session.run(None, self.inputs)


class TorchScriptInference(Inference):
    @metric(
        "onnx_inference_throughput",
        unit="images/s",
        direction="higher",
        work=8,
        hot_path="H18",
        tags=["onnx"],
        requires=["onnx", "onnxruntime"],
        timeout=PATIENCE,
        summary="8 images through ONNX Runtime, exported by the TorchScript exporter",
    )
    def time_run(self, *_):
        self.run()


class DynamoInference(Inference):
    exporter = "dynamo"

    @metric(
        "onnx_dynamo_inference_throughput",
        unit="images/s",
        direction="higher",
        work=8,
        hot_path="H18",
        tags=["onnx"],
        requires=["onnx", "onnxruntime", "onnxscript"],
        timeout=PATIENCE,
        summary="8 images through ONNX Runtime, exported by the dynamo exporter",
    )
    def time_run(self, *_):
        self.run()
