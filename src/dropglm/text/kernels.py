"""The loops over bytes, tokens and n-grams.

An n-gram is the pair of its first n - 1 tokens, themselves a numbered n-gram, and its last token: a
number of 64 bits. Tokens and pairs get their numbers from hash tables with linear probing, which hold numbers
only; what a number stands for lies in arrays in the order in which it was first seen, so that frequent
n-grams, seen early, lie close together.

To be filled on several threads, a table is cut into shards by the hash. Every thread walks over all texts and
takes what belongs to its own shard; no lock is needed, and nothing depends on who was faster. Each
begins with another text, since two cores that write side by side slow each other down.
"""

import numpy as np

from dropglm.maths.compile import inlined, kernel

FREE = -1
# The columns of a tally: the last text with the n-gram, the number of texts with it, its number in all.
SEEN, TEXTS, TIMES = 0, 1, 2
_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a's
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@inlined
def mixed(key):
    """A hash of 64 bits, all of which depend on all of the key's."""
    h = np.uint64(key) * _GOLDEN
    h = (h ^ (h >> _HALF)) * _GOLDEN
    return h ^ (h >> _HALF)


@inlined
def shard_of(h, shards):
    """Which of the shards a hash belongs to, by its upper half."""
    return np.int64(((h >> _HALF) * np.uint64(shards)) >> _HALF)


@inlined
def slot_of(h, slots):
    """Where to look first, by the lower half; the number of slots is a power of two."""
    return np.int64(h & np.uint64(len(slots) - 1))


@kernel
def scan(letters, ends, classes, shortest, first, last, counts, starts, stops, hashes):
    """Cut texts first to last - 1 into tokens, by the class of each character."""
    for i in range(first, last):
        place, p, end = ends[i], ends[i], ends[i + 1]
        start, length, h = p, 0, _OFFSET
        while p < end:
            lead = letters[p]
            code, after = np.int64(lead), p + 1
            if lead >= 0x80:  # a character of 2, 3 or 4 bytes
                more = 1 if lead < 0xE0 else (2 if lead < 0xF0 else 3)
                code = np.int64(lead) & (0x3F >> more)
                for _ in range(more):
                    code = code << 6 | (np.int64(letters[after]) & 0x3F)
                    after += 1
            kind = classes[code]
            if kind == 1:
                if length == 0:
                    start, h = p, _OFFSET
                length += 1
                for k in range(p, after):
                    h = (h ^ np.uint64(letters[k])) * _PRIME
            else:
                if length >= shortest:
                    starts[place], stops[place], hashes[place] = start, p, mixed(h)
                    place += 1
                length = 0
                if kind == 2:
                    h = _OFFSET
                    for k in range(p, after):
                        h = (h ^ np.uint64(letters[k])) * _PRIME
                    starts[place], stops[place], hashes[place] = p, after, mixed(h)
                    place += 1
            p = after
        if length >= shortest:
            starts[place], stops[place], hashes[place] = start, end, mixed(h)
            place += 1
        counts[i] = place - ends[i]


@kernel
def hash_spans(letters, ends, hashes):
    """The hash of each of the strings that stand one after the other."""
    for i in range(len(hashes)):
        h = _OFFSET
        for k in range(ends[i], ends[i + 1]):
            h = (h ^ np.uint64(letters[k])) * _PRIME
        hashes[i] = mixed(h)


@inlined
def same(letters, start, stop, others, begin, end):
    """Whether two strings are equal."""
    if stop - start != end - begin:
        return False
    k = 0
    while k < stop - start and letters[start + k] == others[begin + k]:
        k += 1
    return k == stop - start


@inlined
def token_slot(letters, start, stop, h, slots, known, ends, hashes):
    """The slot that has this token, or the free one where it would stand."""
    slot = slot_of(h, slots)
    while slots[slot] != FREE:
        found = slots[slot]
        if hashes[found] == h and same(letters, start, stop, known, ends[found], ends[found + 1]):
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@inlined
def pair_slot(key, h, slots, keys):
    """The slot that has this pair, or the free one where it would stand."""
    slot = slot_of(h, slots)
    while slots[slot] != FREE and keys[slots[slot]] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@inlined
def counted(node, text, tally):
    """Count the node; whether this text has it for the first time."""
    tally[node, TIMES] += 1
    if tally[node, SEEN] == text:
        return False
    tally[node, SEEN] = text
    tally[node, TEXTS] += 1
    return True


@kernel
def refill_tokens(slots, hashes, size):
    """Put the first tokens into empty slots."""
    for node in range(size):
        slot = slot_of(hashes[node], slots)
        while slots[slot] != FREE:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = node


@kernel
def refill_pairs(slots, keys, size):
    """Put the first pairs into empty slots."""
    for node in range(size):
        slots[pair_slot(keys[node], mixed(keys[node]), slots, keys)] = node


@kernel
def add_tokens(tokens, first_text, shard, shards, slots, known, ends, hashes, size, tally, numbers, new):
    """Number the tokens of one shard, new ones too; the texts are first_text, first_text + 1, …"""
    n = len(tokens.first)
    for turn in range(n):
        i = (turn + n * shard // shards) % n
        for p in range(tokens.first[i], tokens.first[i] + tokens.counts[i]):
            h = tokens.hashes[p]
            if shard_of(h, shards) != shard:
                continue
            start, stop = tokens.start[p], tokens.stop[p]
            slot = token_slot(tokens.letters, start, stop, h, slots, known, ends, hashes)
            if slots[slot] == FREE:
                node = size[0]
                for k in range(stop - start):
                    known[ends[node] + k] = tokens.letters[start + k]
                ends[node + 1] = ends[node] + stop - start
                hashes[node] = h
                slots[slot] = node
                size[0] += 1
            node = slots[slot]
            numbers[p] = node * shards + shard
            new[p] = counted(node, first_text + i, tally)


@kernel
def add_pairs(tokens, first_text, shard, shards, slots, keys, size, tally, heads, tails, n, numbers, new):
    """Number the n-grams of one shard, given the numbers of the (n - 1)-grams and of the tokens."""
    count = len(tokens.first)
    for turn in range(count):
        i = (turn + count * shard // shards) % count
        for p in range(tokens.first[i], tokens.first[i] + tokens.counts[i] - n + 1):
            key = np.int64(heads[p]) << 32 | np.int64(tails[p + n - 1])
            h = mixed(key)
            if shard_of(h, shards) != shard:
                continue
            slot = pair_slot(key, h, slots, keys)
            if slots[slot] == FREE:
                keys[size[0]] = key
                slots[slot] = size[0]
                size[0] += 1
            node = slots[slot]
            numbers[p] = node * shards + shard
            new[p] = counted(node, first_text + i, tally)


@kernel
def find_tokens(tokens, first, last, slots, known, ends, hashes, numbers):
    """The numbers of the tokens of texts first to last - 1, -1 for unknown ones."""
    for i in range(first, last):
        for p in range(tokens.first[i], tokens.first[i] + tokens.counts[i]):
            start, stop = tokens.start[p], tokens.stop[p]
            slot = token_slot(tokens.letters, start, stop, tokens.hashes[p], slots, known, ends, hashes)
            numbers[p] = slots[slot]


@kernel
def find_pairs(tokens, first, last, slots, keys, heads, tails, n, numbers):
    """The numbers of the n-grams, given those of the (n - 1)-grams and of the tokens."""
    for i in range(first, last):
        for p in range(tokens.first[i], tokens.first[i] + tokens.counts[i] - n + 1):
            head, tail = np.int64(heads[p]), np.int64(tails[p + n - 1])
            numbers[p] = FREE
            if head >= 0 and tail >= 0:
                key = head << 32 | tail
                numbers[p] = slots[pair_slot(key, mixed(key), slots, keys)]


@kernel
def lengths(tokens, first, last, shortest, wanted, length):
    """How many n-grams of each text are wanted."""
    for i in range(first, last):
        total = 0
        for level in range(shortest - 1, len(wanted)):
            for p in range(tokens.first[i], tokens.first[i] + tokens.counts[i] - level):
                total += wanted[level, p]
        length[i] = total


@kernel
def pack(tokens, first, last, shortest, wanted, numbers, place, codes):
    """Write the wanted n-grams of each text one after the other, as number · levels + level."""
    levels = len(wanted)
    for i in range(first, last):
        k = place[i]
        for level in range(shortest - 1, levels):
            for p in range(tokens.first[i], tokens.first[i] + tokens.counts[i] - level):
                if wanted[level, p]:
                    codes[k] = numbers[level, p] * levels + level
                    k += 1


@kernel
def settle(codes, place, first, last, column_of, length, times):
    """Turn the codes of each text into columns, in order and each once, with the times that it was there."""
    for i in range(first, last):
        start = stop = place[i]
        for k in range(place[i], place[i + 1]):
            column = column_of[codes[k]]
            if column >= 0:
                codes[stop] = column
                stop += 1
        codes[start:stop].sort()
        kept = start
        for k in range(start, stop):
            if kept > start and codes[kept - 1] == codes[k]:
                times[kept - 1] += 1
            else:
                codes[kept], times[kept] = codes[k], 1
                kept += 1
        length[i] = kept - start


@kernel
def close_ranks(entries, place, length, begin, out):
    """Copy the first entries of each text to where its row begins."""
    for i in range(len(length)):
        for k in range(length[i]):
            out[begin[i] + k] = entries[place[i] + k]
