"""What is said of exporting to ONNX. Each exporter that the release has, and whose packages are there, is asked."""

import importlib
import importlib.util
import inspect
import io
import warnings

from .claims import claim
from .common import normal, skip, start
from .verdicts import accelerator, verdict, words_of


def require_onnx():
    """Skips without the package onnx, with which the exported file is read.

    Raises:
        NotImplementedError: A skip.
    """
    if importlib.util.find_spec("onnx") is None:
        skip("onnx is not installed")
    return importlib.import_module("onnx")


def export_by_script(torch, onnx, model, x, dynamic):
    """Through TorchScript: the only exporter of old releases, and a choice in new ones."""
    options = {"input_names": ["x"], "output_names": ["y"]}
    if dynamic:
        options["dynamic_axes"] = {"x": {0: "batch"}, "y": {0: "batch"}}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False
    file = io.BytesIO()
    torch.onnx.export(model, x, file, **options)
    return onnx.load_model_from_string(file.getvalue())


def export_by_dynamo(torch, _, model, x, dynamic):
    """Through `torch.export`: the default since torch 2.9."""
    options = {"input_names": ["x"], "output_names": ["y"], "dynamo": True, "verbose": False}
    if dynamic:
        options["dynamic_shapes"] = ({0: torch.export.Dim("batch", min=2, max=64)},)
    return torch.onnx.export(model, (x,), **options).model_proto


def exporters(torch):
    """The exporters that can run here, by name."""
    found = {"TorchScript": export_by_script}
    has_dynamo = "dynamo" in inspect.signature(torch.onnx.export).parameters
    if has_dynamo and importlib.util.find_spec("onnxscript") is not None:
        found["dynamo"] = export_by_dynamo
    return found


def dimensions(values):
    """The dimensions of inputs or outputs as text, the free ones by name: `8x16`, `batchx16`."""
    shapes = [[dim.dim_param or str(dim.dim_value) for dim in value.type.tensor_type.shape.dim] for value in values]
    return ", ".join("x".join(shape) for shape in shapes)


def make_model(torch):
    """A small network, in the mode that is exported."""
    return torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU()).eval()


class FixedDimensions:
    """The shapes in the exported file, without a word about dimensions and with a free first one."""

    def setup(self):
        self.torch, _ = start()
        self.onnx = require_onnx()
        self.model = make_model(self.torch)
        self.x = normal(self.torch, 8, 16)

    @claim(
        "C20",
        "claim_onnx_fixes_dimensions",
        "ONNX export fixes every dimension unless told otherwise",
        hot_path="H18",
        requires=["onnx"],
        timeout=180.0,
    )
    def track_fixed(self):
        shapes = {}
        for name, export in exporters(self.torch).items():
            for dynamic in (False, True):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    graph = export(self.torch, self.onnx, self.model, self.x, dynamic).graph
                shapes[name, dynamic] = dimensions(graph.input) + " to " + dimensions(graph.output)
        fixed = all(
            (shape == "8x16 to 8x8") if not dynamic else ("8x16" not in shape and "x16 to " in shape)
            for (_, dynamic), shape in shapes.items()
        )
        note = "; ".join(
            f"{name}: {shapes[name, False]} untold, {shapes[name, True]} with a free batch"
            for name in exporters(self.torch)
        )
        return verdict(fixed, note)


class DeviceModel:
    """A model and its input on a device, and for comparison on the CPU."""

    def setup(self):
        self.torch, _ = start()
        self.onnx = require_onnx()
        self.device = accelerator(self.torch)
        self.model = make_model(self.torch)
        self.x = normal(self.torch, 8, 16)

    @claim(
        "C21",
        "claim_onnx_refuses_device",
        "ONNX export refuses a model on the GPU",
        hot_path="H18",
        requires=["onnx"],
        timeout=180.0,
    )
    def track_refused(self):
        said = {}
        for name, export in exporters(self.torch).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                export(self.torch, self.onnx, self.model.to("cpu"), self.x, False)
                try:
                    export(self.torch, self.onnx, self.model.to(self.device), self.x.to(self.device), False)
                except Exception as error:  # whatever it is: the same export went through on the CPU
                    said[name] = words_of(error)
                else:
                    said[name] = ""
        note = "; ".join(
            f"{name} on {self.device}: {words or 'exported as on the CPU'}" for name, words in said.items()
        )
        return verdict(all(said.values()), note)
