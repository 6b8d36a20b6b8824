"""The loop that takes most of the time of a singular value decomposition."""

from dropglm.design.storage import column, span, value
from dropglm.maths.compile import fused_kernel


@fused_kernel
def add_gram_product(rows, m, Q, W, z):
    """Add MᵀM Q = Σ_r m_r (m_rᵀ Q) to W, where m_r are the m rows of M; z has room for one row of Q.

    M Q, which has as many rows as M, is never stored. The width of z is not a constant on purpose: LLVM
    unrolls short loops of known length before it can vectorise them, which took three times as long.
    """
    for r in range(m):
        start, stop = span(rows, r)
        z[:] = 0
        for k in range(start, stop):
            i, x = column(rows, k), Q.dtype.type(value(rows, r, k))
            for c in range(z.size):
                z[c] += x * Q[i, c]
        for k in range(start, stop):
            i, x = column(rows, k), Q.dtype.type(value(rows, r, k))
            for c in range(z.size):
                W[i, c] += x * z[c]
