"""Loops that turn the n-grams of each text into a row of a sparse matrix."""

from dropglm.maths.compile import kernel, part

DIGIT = 8  # bits
RADIX = 1 << DIGIT
FEW = 24  # entries up to which insertion is faster


@part
def sort(values, scratch, first, last, places, digits):
    """Sort non-negative integers with this many digits in base 256; the scratch is overwritten.

    A row has a few hundred columns, in no order: a general sort mispredicts half of its branches, and takes
    a few seconds to compile.
    """
    if last - first <= FEW:
        for k in range(first + 1, last):
            value, place = values[k], k
            while place > first and values[place - 1] > value:
                values[place] = values[place - 1]
                place -= 1
            values[place] = value
        return
    source, target = values, scratch
    for shift in range(0, DIGIT * digits, DIGIT):
        for j in range(RADIX):
            places[j] = 0
        for k in range(first, last):
            places[(source[k] >> shift) & (RADIX - 1)] += 1
        total = first
        for j in range(RADIX):
            count = places[j]
            places[j] = total
            total += count
        for k in range(first, last):
            j = (source[k] >> shift) & (RADIX - 1)
            target[places[j]] = source[k]
            places[j] += 1
        source, target = target, source
    if digits % 2:
        for k in range(first, last):
            values[k] = scratch[k]


@kernel
def codes_to_columns(codes, start_of, word_columns, pair_columns, digits, places, length, times):
    """Replace the codes of each text by its distinct columns in ascending order, and count each of them.

    Columns have so many digits in base 256; ``places`` has 256 numbers, and is overwritten.
    """
    for i in range(len(length)):
        start = stop = start_of[i]
        for k in range(start_of[i], start_of[i + 1]):
            code = codes[k]
            column = word_columns[code] if code >= 0 else pair_columns[-1 - code]
            codes[stop] = column
            stop += column >= 0
        sort(codes, times, start, stop, places, digits)
        kept = start
        for k in range(start, stop):
            if kept > start and codes[kept - 1] == codes[k]:
                times[kept - 1] += 1
            else:
                codes[kept], times[kept] = codes[k], 1
                kept += 1
        length[i] = kept - start


@kernel
def copy_rows(columns, times, start_of, length, row_start, binary, indices, data):
    """Copy the first ``length[i]`` columns of each text i, and their counts, to where its row begins."""
    for i in range(len(length)):
        for k in range(length[i]):
            indices[row_start[i] + k] = columns[start_of[i] + k]
            data[row_start[i] + k] = 1 if binary else times[start_of[i] + k]


@kernel
def add_values(data, indices, first, last, totals):
    """Add the entries from first to last - 1 to the totals of their columns; return if any is not 1."""
    different = False
    for k in range(first, last):
        totals[indices[k]] += data[k]
        different |= data[k] != 1
    return different


@kernel
def count_kept(indptr, indices, first, last, new_column, length):
    """Count the entries of rows first to last - 1 whose column has a new number, which is not -1."""
    for i in range(first, last):
        kept = 0
        for k in range(indptr[i], indptr[i + 1]):
            kept += new_column[indices[k]] >= 0
        length[i] = kept


@kernel
def copy_kept(indptr, indices, data, first, last, new_column, new_indptr, new_indices, new_data):
    """Copy the entries of rows first to last - 1 whose column has a new number."""
    for i in range(first, last):
        place = new_indptr[i]
        for k in range(indptr[i], indptr[i + 1]):
            column = new_column[indices[k]]
            if column >= 0:
                new_indices[place], new_data[place] = column, data[k]
                place += 1


@kernel
def scale_entries(data, indices, scale, first, last, scaled):
    """Multiply the entries from first to last - 1 by the scale of their columns."""
    for k in range(first, last):
        scaled[k] = data[k] * scale[indices[k]]
