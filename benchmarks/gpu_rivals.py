"""Others on the data of ``benchmarks.gpu``: raw kernels, PyTorch with the same objective, scikit-learn."""

import time
from typing import Any

import numpy as np

from benchmarks.markdown import Rows
from dropglm import LogisticRegression
from dropglm.core.maths.softplus import _INVERSE_TAUS, _WEIGHTS

GAPS = (1e-4, 1e-6)


# Xd, X²(β·d) and X²d² of 64 problems by rows, as one would write it in C: a warp per row and 64 problems.
SOURCE = """
extern "C" __global__ void ray(int n, const long long* indptr, const unsigned int* indices,
                               const float2* beta, const float2* direction, double* out) {
    int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (i >= n) return;
    float2 a = {0, 0}, b = {0, 0}, c = {0, 0};
    #pragma unroll 4
    for (long long k = indptr[i]; k < indptr[i + 1]; k++) {
        float2 x = beta[(long long)indices[k] * 32 + lane], d = direction[(long long)indices[k] * 32 + lane];
        a.x += d.x; a.y += d.y; b.x += x.x * d.x; b.y += x.y * d.y; c.x += d.x * d.x; c.y += d.y * d.y;
    }
    long long at = (long long)i * 64 + 2 * lane, next = (long long)n * 64;
    out[at] = a.x; out[at + 1] = a.y;
    out[next + at] = b.x; out[next + at + 1] = b.y;
    out[2 * next + at] = c.x; out[2 * next + at + 1] = c.y;
}
"""


def raw_kernels(data: Any) -> Rows:
    """Compare a kernel of Numba with a raw kernel of CuPy: its time, and the time of a call in Python."""
    import cupy

    from dropglm.places.gpu.design import upload
    from dropglm.places.gpu.matrix import Ray
    from dropglm.places.gpu.runtime import GpuArray, Group, Stream

    matrix: Any = upload([data.X], np.dtype(np.float32), 1)[1][0]
    (n, d), P = matrix.shape, 64
    raw = cupy.RawKernel(SOURCE, "ray")
    rng = np.random.default_rng(0)
    beta, direction = (GpuArray(cupy.asarray(rng.normal(size=(d, P)), dtype=np.float32)) for _ in range(2))
    out, other, ones = *(GpuArray(cupy.zeros((3, n, P))) for _ in range(2)), GpuArray(cupy.ones(P))
    indptr, indices, _ = (part.array for part in matrix.rows)
    with Stream() as stream:
        group, ends = Group(P, stream), Ray(beta, direction)
        arguments = np.int32(n), indptr, indices, beta.array, direction.array, other.array
        works = {
            "Numba": lambda: matrix.ray(group, ends, ones, out, add=False),
            "CuPy's raw kernel": lambda: raw((-(-n // 8),), (256,), arguments),
        }
        rows: Rows = []
        for name, work in works.items():
            for _ in range(3):
                work()
            calls, times = [], []
            for _ in range(50):
                before, after = cupy.cuda.Event(), cupy.cuda.Event()
                cupy.cuda.get_current_stream().synchronize()
                before.record()
                start = time.perf_counter()
                work()
                calls.append(time.perf_counter() - start)
                work()
                work()
                after.record()
                after.synchronize()
                times.append(cupy.cuda.get_elapsed_time(before, after) / 3)
            call, taken = np.median(calls) * 1e6, np.median(times)
            rows.append((f"along a ray, 64 problems, {name}", f"{taken:.3f} ms", f"{call:.0f} µs"))
        difference = float(abs(out.array[0] - other.array[0]).max())
    rows.append(("largest difference of the two Xd", f"{difference:.1e}", ""))
    return rows


def rivals(data: Any) -> Rows:
    """Measure the time that others take until the objective is close to its minimum."""
    ours = LogisticRegression(tol=1e-6, device="cuda", max_iter=1000).fit(data.X, data.y)
    best = ours.result_.objective
    rows: Rows = []
    for gap in GAPS:
        tol, taken, model = np.sqrt(gap), np.inf, ours
        for _ in range(4):
            start = time.perf_counter()
            model = LogisticRegression(tol=tol, device="cuda").fit(data.X, data.y)
            taken = min(taken, time.perf_counter() - start)
        rows.append(
            (
                f"dropglm, X from the host, gap {gap:g}",
                f"{taken * 1e3:.0f} ms",
                _gap(model.result_.objective, best),
            )
        )
    try:
        rows += torch_lbfgs(data, best)
    except ImportError:
        rows.append(("PyTorch", "not installed", ""))
    return rows + scikit_learn(data)


def scikit_learn(data: Any) -> Rows:
    """Measure plain L2 models of scikit-learn on the CPU, with the faster of one and all threads of BLAS."""
    from sklearn.linear_model import LogisticRegression as Plain
    from threadpoolctl import threadpool_limits

    solvers: dict[str, dict[str, Any]] = {
        "liblinear, dual": {"solver": "liblinear", "dual": True, "tol": 1e-2},
        "newton-cg": {"solver": "newton-cg"},
        "lbfgs": {"solver": "lbfgs"},
    }
    rows: Rows = []
    for name, settings in solvers.items():
        taken = np.inf
        for threads in (1, None):
            with threadpool_limits(threads):
                start = time.perf_counter()
                plain = Plain(C=1.0, max_iter=1000, **settings).fit(data.X, data.y)
                taken = min(taken, time.perf_counter() - start)
        score = f"{100 * plain.score(data.X, data.y):.2f} % of the training rows"
        rows.append((f"scikit-learn {name} on the CPU, no dropout", f"{taken * 1e3:.0f} ms", score))
    return rows


def _gap(value: float, best: float) -> str:
    return f"{value / best - 1.0:+.1e}"


def torch_lbfgs(data: Any, best: float) -> Rows:
    """Minimise the same objective by automatic differentiation and PyTorch's L-BFGS."""
    import torch

    def tensor(array: np.ndarray) -> Any:
        return torch.as_tensor(array, device="cuda")

    csr = data.X
    X = torch.sparse_csr_tensor(
        tensor(csr.indptr.astype(np.int64)), tensor(csr.indices.astype(np.int64)), tensor(csr.data), csr.shape
    )
    y = tensor(data.y.astype(np.float32))
    weights, inverse = tensor(_WEIGHTS), tensor(_INVERSE_TAUS)

    def tail(a: Any, v: Any) -> Any:
        tau = torch.sqrt(1.0 / inverse**2 + v[:, None])
        u = a[:, None] / tau
        phi = torch.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)
        return (weights * tau * (phi - u * torch.special.ndtr(-u))).sum(dim=1)

    def objective(beta: Any, b: Any) -> Any:
        eta = (X @ beta[:, None])[:, 0].double() + b
        t = (X @ (beta * beta)[:, None])[:, 0].double()  # X is binary, and δ/(1-δ) = 1
        loss = torch.nn.functional.softplus(eta) - y * eta
        penalty = tail(eta.abs(), t) - tail(eta.abs(), torch.zeros_like(t))
        return loss.sum() + penalty.sum() + 0.5 * (beta.double() ** 2).sum()

    rows: Rows = []
    for attempt in range(2):  # the first one loads libraries
        beta = torch.zeros(csr.shape[1], device="cuda", requires_grad=True)
        b = torch.zeros((), device="cuda", dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS([beta, b], max_iter=5, history_size=10, line_search_fn="strong_wolfe")

        def closure(beta: Any = beta, b: Any = b, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            value = objective(beta, b)
            value.backward()
            return value

        open_gaps, start = list(GAPS), time.perf_counter()
        for _ in range(200):
            optimizer.step(closure)
            value = float(objective(beta, b).detach())
            while open_gaps and value / best - 1.0 <= open_gaps[0]:
                taken = time.perf_counter() - start
                if attempt:
                    name = f"PyTorch, L-BFGS on the GPU, X in its memory, gap {open_gaps[0]:g}"
                    rows.append((name, f"{taken * 1e3:.0f} ms", _gap(value, best)))
                open_gaps.pop(0)
            if not open_gaps:
                break
        if attempt and open_gaps:
            rows.append(
                (f"PyTorch after {time.perf_counter() - start:.1f} s", "not reached", _gap(value, best))
            )
    return rows
