"""One report of every kind, with everything that a report can say."""

from __future__ import annotations

from harness.errors import ExitCode, InstallError
from harness.measurement.metrics import Direction, Metric
from harness.measurement.records import State
from harness.reporting.claims import ClaimsReport
from harness.reporting.document import Finding
from harness.reporting.listings import EnvironmentRow, EnvironmentsReport, ErrorReport, MetricsReport
from harness.reporting.noise import NoiseReport, NoiseRow
from harness.reporting.plan import PlanReport, PlanRow
from harness.reporting.plot_files import PlotFile
from harness.reporting.run import CurveReportRow, ReportRow, RunReport, SkippedReportRow
from harness.statistics.claims import claims_table
from harness.statistics.verdict import Verdict
from tests.unit.statistics.builders import record

LAYER = "3x3 64->64 at 56x56"


def row(verdict, **changes):
    values = {
        "metric": "conv2d_throughput",
        "benchmark": "bench_conv.Conv2d.time_forward",
        "params": (("threads", "1"), ("device", "cpu"), ("layer", LAYER)),
        "unit": "images/s",
        "baseline": 36.104,
        "candidate": 33.5,
        "verdict": verdict,
        "ratio": 0.9279,
        "low": 0.9101,
        "high": 0.946,
        "level": 0.9875,
        "table_low": 0.8943,
        "table_high": 0.9628,
        "table_level": 0.999917,
        "detectable": 1.012,
        "floor": 0.03,
        "rounds": 6,
        "calm": None,
        "reason": "",
    }
    return ReportRow(**{**values, **changes})


def curve(model, **changes):
    values = {
        "metric": "training_repeats",
        "benchmark": "bench_reproducible.Repeats.track_in_process",
        "params": (("threads", "1"), ("device", "cpu"), ("model", model)),
        "steps": 20,
        "equal": True,
        "step": None,
        "baseline": None,
        "candidate": None,
        "ulp": None,
        "relative": None,
        "largest": 0.0,
        "rounds": 6,
        "variants": (1, 1),
    }
    return CurveReportRow(**{**values, **changes})


ABSENT = {
    "ratio": None,
    "low": None,
    "high": None,
    "level": None,
    "table_low": None,
    "table_high": None,
    "table_level": None,
    "detectable": None,
    "rounds": 0,
}

RUN = RunReport(
    command="run",
    title="torch 1.11.0 against 1.12.1",
    baseline="torch1.11.0-py3.10-default+slim",
    candidate="torch1.12.1-py3.10-default+slim",
    rows=(
        row(
            Verdict.BROKEN,
            metric="mlp_step",
            params=(("threads", "1"), ("device", "cpu")),
            unit="s",
            baseline=0.00123,
            candidate=None,
            reason="the candidate crashed: \x1b[31mRuntimeError\x1b[0m: x | y <z>",
            **ABSENT,
        ),
        row(Verdict.SLOWER),
        row(
            Verdict.UNDECIDED,
            params=(("threads", "default"), ("device", "cpu"), ("layer", LAYER)),
            ratio=0.984,
            low=0.955,
            high=1.014,
            detectable=1.033,
            rounds=12,
            reason="a speedup of 3 % is excluded, a slowdown is not; the candidate crashed in 1 of 13 rounds",
        ),
        row(
            Verdict.INCOMPARABLE,
            metric="matmul_throughput",
            params=(("threads", "1"), ("device", "cpu")),
            unit="GFLOP/s",
            baseline=None,
            candidate=41.2,
            reason="fixed: the candidate runs, the baseline timed out",
            **ABSENT,
        ),
        row(
            Verdict.FASTER,
            metric="add_tiny",
            params=(("threads", "1"), ("device", "cpu")),
            unit="s",
            baseline=9.85e-7,
            candidate=3.1e-7,
            ratio=3.177,
            low=3.1,
            high=3.26,
        ),
        row(
            Verdict.SAME,
            metric="empty_tensor",
            params=(("threads", "1"), ("device", "cpu")),
            unit="s",
            baseline=0.000985,
            candidate=0.00102,
            ratio=1.001,
            low=0.9921,
            high=1.0101,
        ),
    ),
    skipped=(
        SkippedReportRow(
            metric="add_tiny",
            benchmark="bench_ops.Add.time_tiny",
            params=(("threads", "1"), ("device", "cuda")),
            reason="no such device here",
        ),
    ),
    findings=(
        Finding(
            severity="warn",
            fault="F15",
            title="the frequency governor is powersave",
            evidence=("cpu0: powersave",),
            advice="cpupower frequency-set -g performance",
        ),
    ),
    curves=(
        curve(model="mlp"),
        curve(
            model="cnn",
            equal=False,
            step=2,
            baseline=1.971762657,
            candidate=1.971762538,
            ulp=1,
            relative=6.05e-08,
            largest=3.59e-06,
            variants=(1, 2),
        ),
        curve(model="lstm", equal=False, step=3, baseline=1.66, candidate=None, ulp=None, relative=None, largest=None),
    ),
    host={"processor": "AMD EPYC 7B13, 2 processors", "kernel": "6.1"},
    notes=("backend default: the CPU index does not answer", "slim: CUDA wheels run on stand-in libraries"),
    alpha=0.01,
    tested=30,
    looks=(5, 10, 15, 20),
    seconds=754.2,
    disk=1_940_000_000,
    report="results/runs/20261201T101500Z-3fa4",
    reproduce="harness run quick --from 1.11.0 --to 1.12.1 --python 3.10 --metric conv2d_throughput --metric add_tiny",
    plots=tuple(
        PlotFile(file=f"results/runs/20261201T101500Z-3fa4/plots/{name}.svg", rows=((metric, (("threads", "1"),)),))
        for name, metric in (("01-conv2d", "conv2d_throughput"), ("02-add", "add_tiny"))
    ),
    exit_code=ExitCode.NO,
)

EMPTY = RunReport(
    command="compare",
    title="nothing",
    baseline="torch1.11.0-py3.10-cpu",
    candidate="torch1.12.1-py3.10-cpu",
    rows=(),
    skipped=RUN.skipped,
    alpha=0.01,
    tested=0,
    looks=(5, 10, 15, 20),
    exit_code=ExitCode.MEASURE,
)

PLAN = PlanReport(
    title="profile upgrade: 3 cells",
    cells=(
        PlanRow(
            id="torch2.13.0-py3.11-default+slim",
            exists=True,
            runs=True,
            wheel="torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl",
            bytes=732_000_000,
            disk=1_410_000_000,
            minutes=4.25,
            warning="2.13.0 was yanked: broken metadata",
        ),
        PlanRow(
            id="torch2.13.0-py3.11-rocm6.4-rocm",
            exists=True,
            runs=False,
            reason="the machine has no /dev/kfd",
            wheel="torch-2.13.0+rocm6.4-cp311-cp311-manylinux_2_28_x86_64.whl",
        ),
        PlanRow(
            id="torch1.12.1-py3.12-default",
            exists=False,
            runs=False,
            reason="1.12.1 has no wheel for Python 3.12, only for 3.7 to 3.10",
            nearest="torch1.12.1-py3.10-default",
        ),
    ),
    notes=("the catalogue is 3 hours old",),
    next_step="harness run upgrade",
)

METRICS = MetricsReport(
    metrics=(
        Metric(
            name="conv2d_throughput",
            benchmark="bench_conv.Conv2d.time_forward",
            unit="images/s",
            direction=Direction.HIGHER,
            hot_path="H11",
            tags=("core",),
            summary="Forward pass of one convolution.",
            param_names=("threads",),
            params=(("'default'", "'1'"),),
        ),
        Metric(
            name="import_time", benchmark="bench_start.time_import", unit="s", hot_path="H19", summary="import torch"
        ),
    )
)

ENVIRONMENTS = EnvironmentsReport(
    command="env check",
    title="2 environments, 1 ill",
    environments=(
        EnvironmentRow(
            key="3f" * 32, cell="torch1.12.1-py3.10-default", bytes=1_810_000_000, last_used="2026-12-01T10:15:00+00:00"
        ),
        EnvironmentRow(
            key="a0" * 32,
            cell="torch2.13.0-py3.11-cpu",
            bytes=740_000_000,
            last_used="2026-11-01T10:15:00+00:00",
            ill="libtorch_cpu.so has changed since it was built",
        ),
    ),
)

ERROR = ErrorReport(
    command="plan",
    error=InstallError(
        "no Python 3.14 here\nno Python 3.15 here", why="uv may not fetch one", next_step="uv python install 3.14"
    ),
)

CLAIMS_OF = {
    "grad_zeroed": Metric(
        name="grad_zeroed", benchmark="b.track_zero", claim="C11", summary="zero_grad() zeroes the gradient in place"
    ),
    "pinned": Metric(name="pinned", benchmark="b.track_pinned", claim="C31", summary="pinned memory cannot be swapped"),
    "seeded": Metric(
        name="seeded",
        benchmark="b.track_seeded",
        claim="C30",
        summary="one seed gives equal losses",
        param_names=("threads",),
        params=(("'the same'", "'others'"),),
    ),
}


def claimed(name, value=None, note="", params=(), **options):
    values = () if value is None else (value,)
    return record(0, 0, values, name=name, params=params, details={"note": note} if note else {}, **options)


def claims_of(zeroes):
    return [
        claimed("b.track_zero", zeroes, "zero_grad() left zeros" if zeroes else "zero_grad() left None"),
        claimed("b.track_pinned", state=State.SKIPPED, reason="no cuda device"),
        claimed("b.track_seeded", 1.0, "all losses are equal", params=("'the same'",)),
        claimed("b.track_seeded", 0.0, "the losses differ from step 2 on", params=("'others'",)),
    ]


MEASURED = {
    "1.8.1": claims_of(1.0),
    "1.13.1": claims_of(1.0),
    "1.14.0": "1.14.0 is not offered",
    "2.0.1": claims_of(0.0),
}
CLAIMS = ClaimsReport(
    title="Claims about torch: 4 releases, 1.8.1 to 2.0.1",
    cells={release: f"torch{release}-py3.9-default" for release in MEASURED},
    missing={"1.14.0": "1.14.0 is not offered"},
    rows=claims_table(list(MEASURED), CLAIMS_OF.values(), MEASURED),
    notes=("slim: CUDA wheels run on the CPU without their CUDA packages",),
    seconds=371.0,
    reproduce="harness claims --from 1.8.1 --to 2.0.1",
)

AGAINST_ITSELF = RunReport(
    command="run",
    title="torch 1.12.1 against 1.12.1",
    baseline="torch1.12.1-py3.10-default",
    candidate="torch1.12.1-py3.10-default",
    rows=(),
    host={"name": "box", "processor": "a processor, 2 processors"},
    notes=("slim: CUDA wheels run on the CPU without their CUDA packages",),
    skipped=(SkippedReportRow(metric="transfer_rate", benchmark="b.time_transfer", params=(), reason="no GPU"),),
    alpha=0.01,
    tested=3,
    looks=(10,),
    seconds=372.0,
    report="results/runs/20261201T101500Z-3f2a1b9c/report.md",
    reproduce="harness calibrate quick",
    exit_code=ExitCode.FINE,
)
NOISE = NoiseReport(
    run=AGAINST_ITSELF,
    rows=(
        NoiseRow(found=row(Verdict.SAME, calm=0.9), spread=0.0052, degrees=9, smallest=0.034),
        NoiseRow(
            found=row(Verdict.SLOWER, params=(("threads", "default"),), calm=0.61),
            spread=0.021,
            degrees=9,
            smallest=0.052,
        ),
        NoiseRow(
            found=row(Verdict.UNDECIDED, metric="loading", params=(), baseline=None, ratio=None, reason="it crashed")
        ),
    ),
    rounds=20,
    file="results/noise/box.json",
)

EVERY = {
    "noise": NOISE,
    "claims": CLAIMS,
    "run": RUN,
    "empty": EMPTY,
    "plan": PLAN,
    "metrics": METRICS,
    "environments": ENVIRONMENTS,
    "error": ERROR,
}
