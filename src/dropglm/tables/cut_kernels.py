"""A compiled loop that finds the records of a CSV or TSV file in its bytes.

It accepts only what is beyond doubt: complete records with as many fields as the header. It stops before
anything else, which the careful parser then reads or names. It is not in ``separated``, which is always
imported, since importing this module imports Numba.
"""

from dropglm.core.maths.compile import kernel
from dropglm.core.maths.instructions import bytes_between, copy_bytes, count_bits, lowest_bit

QUOTE, LF, CR = 34, 10, 13

# Why the loop stopped: the last record is incomplete, or the next record is for the careful parser.
COMPLETE, INCOMPLETE, DOUBTFUL = 0, 1, 2


@kernel
def cut_records(data, stop, final, delimiter, slots, max_length, letters, begins, ends, lines):
    """Copy fields of the records before ``stop`` to ``letters``.

    Field f of a record is copied if ``slots[f]`` is not negative; its bytes are those from
    ``begins[slot, record]`` up to ``ends[slot, record]``. ``lines`` gets the first and the last line of each
    record, counted from 0. Returns why the loop stopped, the number of records, the position of the next one,
    and the number of lines and of bytes written.

    ``final`` says that the file ends at ``stop``. Both ``data`` and ``letters`` need 64 spare bytes.
    """
    p, place, line, n = 0, 0, 0, 0
    while True:
        record, first_line, kept, field = p, line, place, 0
        if p >= stop:
            reason = INCOMPLETE
            break
        if data[p] == LF:  # a blank line
            p, line = p + 1, line + 1
            continue
        if data[p] == CR and p + 1 < stop and data[p + 1] == LF:
            p, line = p + 2, line + 1
            continue
        reason, ended = COMPLETE, 0
        while True:  # one field after the other
            begin, wanted = place, field < len(slots) and slots[field] >= 0
            if p < stop and data[p] == QUOTE:
                p += 1
                open_ = True
                while open_ and p < stop:
                    size = min(lowest_bit(bytes_between(data, p, QUOTE, QUOTE)), stop - p)
                    newlines = bytes_between(data, p, LF, LF)
                    if newlines:
                        line += count_bits(newlines if size == 64 else newlines & ((1 << size) - 1))
                    if wanted:
                        copy_bytes(data, p, letters, place)
                        place += size
                    p += size
                    if p < stop and size < 64:
                        if p + 1 < stop and data[p + 1] == QUOTE:
                            if wanted:
                                letters[place] = QUOTE
                                place += 1
                            p += 2
                        else:
                            p += 1
                            open_ = False
                if open_:
                    reason = INCOMPLETE
                    break
            else:
                size = 64
                while size == 64 and p < stop:
                    found = bytes_between(data, p, delimiter, delimiter) | bytes_between(data, p, LF, LF)
                    size = min(lowest_bit(found | bytes_between(data, p, CR, CR)), stop - p)
                    if wanted:
                        copy_bytes(data, p, letters, place)
                        place += size
                    p += size
            if wanted:
                begins[slots[field], n], ends[slots[field], n] = begin, place
            field += 1
            if p >= stop:
                reason = COMPLETE if final else INCOMPLETE
                break
            after = data[p]
            p += 1
            if after == delimiter:
                continue
            line, ended = line + 1, 1
            if after == CR:
                if p < stop and data[p] == LF:
                    p += 1
                else:
                    reason = INCOMPLETE if p >= stop and not final else DOUBTFUL
            elif after != LF:  # text after a closing quote
                reason = DOUBTFUL
            break
        if reason == COMPLETE and (field != len(slots) or p - record > max_length):
            reason = DOUBTFUL
        if reason != COMPLETE:
            p, line, place = record, first_line, kept
            break
        lines[n, 0], lines[n, 1] = first_line, line - ended
        n += 1
    return reason, n, p, line, place
