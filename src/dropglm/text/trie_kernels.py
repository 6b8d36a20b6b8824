"""Loops that merge two tries of n-grams, both of which are sorted; see ``ngram_trie``."""

from dropglm.maths.compile import kernel
from dropglm.text.sorting import is_less

NONE = -1


@kernel
def merge_words(letters, ends, other_ends, numbers, other_numbers):
    """Write the number of each word of two sorted lists in the sorted list of both; return its length.

    ``letters`` are those of both; word i extends from ``ends[i]`` to ``ends[i + 1]``.
    """
    a, b, size = 0, 0, 0
    while a < len(numbers) or b < len(other_numbers):
        if b == len(other_numbers):
            first, second = True, False
        elif a == len(numbers):
            first, second = False, True
        else:
            own, other = (ends[a], ends[a + 1]), (other_ends[b], other_ends[b + 1])
            first = not is_less(letters, other[0], other[1], own[0], own[1])
            second = not is_less(letters, own[0], own[1], other[0], other[1])
        if first:
            numbers[a] = size
            a += 1
        if second:
            other_numbers[b] = size
            b += 1
        size += 1
    return size


@kernel
def merge_level(a, b, numbers, heads, merged, places):
    """Merge the n-grams of n words of two tries, given where their first n - 1 words are in each of them.

    Parameters
    ----------
    a, b, merged : NgramLevel
        What to merge, and memory for the result, with room for all n-grams of both.
    numbers : pair of ndarray
        The new number of each word of a and of b.
    heads, places : pair of ndarray
        The place in a and in b of each merged n-gram of n - 1 words, and of n words; -1 if it has none.
    """
    size = 0
    for head in range(len(heads[0])):
        merged.starts[head] = size
        i, i_end, j, j_end = 0, 0, 0, 0
        if heads[0][head] != NONE:
            i, i_end = a.starts[heads[0][head]], a.starts[heads[0][head] + 1]
        if heads[1][head] != NONE:
            j, j_end = b.starts[heads[1][head]], b.starts[heads[1][head] + 1]
        while i < i_end or j < j_end:
            own = numbers[0][a.last[i]] if i < i_end else numbers[1][b.last[j]]
            other = numbers[1][b.last[j]] if j < j_end else own
            word = min(own, other)
            merged.last[size], merged.texts[size], merged.times[size] = word, 0, 0
            places[0][size] = places[1][size] = NONE
            if i < i_end and own == word:
                merged.texts[size] += a.texts[i]
                merged.times[size] += a.times[i]
                places[0][size] = i
                i += 1
            if j < j_end and other == word:
                merged.texts[size] += b.texts[j]
                merged.times[size] += b.times[j]
                places[1][size] = j
                j += 1
            size += 1
    merged.starts[len(heads[0])] = size
    return size
