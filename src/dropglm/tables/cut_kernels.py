"""Compiled loops that find the records of a CSV or TSV file in its bytes.

They accept only what is beyond doubt: complete records of well-formed UTF-8 with as many fields as the
header. They stop before anything else, which the careful parser then reads or names.
"""

from dropglm.maths.byte_blocks import bytes_between, copy_bytes, count_bits, lowest_bit
from dropglm.maths.compile import inlined, kernel

QUOTE, LF, CR = 34, 10, 13

# Why ``cut_records`` stopped: a limit was reached, the last record is incomplete, or the next record is for
# the careful parser.
LIMIT, INCOMPLETE, DOUBTFUL = 0, 1, 2
# Positions in ``counts``
RECORDS, POSITION, LINES, BYTES = 0, 1, 2, 3


@inlined
def character_length(data, p, stop):
    """Return the number of bytes of the character at p: 0 if it is malformed or NUL, -1 if it is cut off."""
    lead = data[p]
    if lead < 0x80:
        return 1 if lead else 0
    if lead < 0xC2 or lead > 0xF4:
        return 0
    size = 2 if lead < 0xE0 else (3 if lead < 0xF0 else 4)
    if p + 1 >= stop:
        return -1
    # The second byte has a smaller range after four of the leads: neither longer forms of shorter characters
    # nor surrogates nor code points above U+10FFFF are allowed.
    low = 0xA0 if lead == 0xE0 else (0x90 if lead == 0xF0 else 0x80)
    high = 0x9F if lead == 0xED else (0x8F if lead == 0xF4 else 0xBF)
    if not low <= data[p + 1] <= high:
        return 0
    for k in range(p + 2, min(p + size, stop)):
        if not 0x80 <= data[k] <= 0xBF:
            return 0
    return size if p + size <= stop else -1


@kernel
def well_formed_until(data, start, stop):
    """Return the first position of NUL or of malformed UTF-8, and whether it is a character cut short.

    The position is ``stop`` if there is none.
    """
    p = start
    while p < stop:
        p += lowest_bit(bytes_between(data, p, 0, 0) | bytes_between(data, p, 0x80, 0xFF))
        while p < stop and (data[p] >= 0x80 or data[p] == 0):
            size = character_length(data, p, stop)
            if size <= 0:
                return p, size < 0
            p += size
    return stop, False


@kernel
def cut_records(
    data, start, stop, final, delimiter, slots, max_length, max_bytes, letters, begins, ends, lines, counts
):
    """Copy fields of the records from ``start`` on to ``letters``; return why this stopped.

    Field f of a record is copied if ``slots[f]`` is not negative; its bytes are those from
    ``begins[slot, record]`` up to ``ends[slot, record]``. ``lines`` gets the first and the last line of each
    record, counted from 0, and ``counts`` the number of records, the position of the next one, the number of
    lines and of bytes written. Stops after ``len(lines)`` records, or when slot 0 has ``max_bytes`` bytes.

    ``final`` says that the file ends at ``stop``. Both ``data`` and ``letters`` need 64 spare bytes.
    """
    p, place, line, n, text_bytes = start, 0, 0, 0, 0
    reason = LIMIT
    while n < len(lines) and text_bytes < max_bytes:
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
        reason, ended = LIMIT, 0
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
                reason = LIMIT if final else INCOMPLETE
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
        if reason == LIMIT and (field != len(slots) or p - record > max_length):
            reason = DOUBTFUL
        if reason != LIMIT:
            p, line, place = record, first_line, kept
            break
        lines[n, 0], lines[n, 1] = first_line, line - ended
        text_bytes += ends[0, n] - begins[0, n]
        n += 1
    counts[RECORDS], counts[POSITION], counts[LINES], counts[BYTES] = n, p, line, place
    return reason


# Where the scan of ``row_starts`` is: at the start of a field, in a field without or with quotes, or after a
# quote in the latter, which is its end or the first of two.
FIELD_START, PLAIN, QUOTED, AFTER_QUOTE = 0, 1, 2, 3


@kernel
def row_starts(data, place, target, size, delimiter, state, starts):
    """Write where rows begin, one in every ``size`` bytes; return their number, the state and the target.

    As in Python's csv module, a quote opens a field only at its start. The bytes are those of a file from
    ``place`` on, and ``target`` is where the next start is wanted. A negative delimiter means that there are
    no quotes: rows are lines.
    """
    count = 0
    for i in range(len(data)):
        c = data[i]
        if state == QUOTED:
            if c == QUOTE:
                state = AFTER_QUOTE
        elif c == LF:
            state = FIELD_START
            if place + i + 1 >= target:
                starts[count] = place + i + 1
                count += 1
                target = place + i + 1 + size
        elif delimiter < 0:
            continue
        elif c == delimiter:
            state = FIELD_START
        elif c == QUOTE and state != PLAIN:
            state = QUOTED
        else:
            state = PLAIN
    return count, state, target
