// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The components of a path.
#pragma once

static __always_inline void count_unread(void)
{
	count(&the_state.unread);
}

#define EACH_BYTE 0x0101010101010101ull
#define HIGH_BITS 0x8080808080808080ull

// The high bit of each byte of a word that is this character.
static __always_inline __u64 bytes_that_are(__u64 word, __u8 character)
{
	__u64 differs = word ^ (EACH_BYTE * character);

	return ~(((differs & ~HIGH_BITS) + ~HIGH_BITS) | differs) & HIGH_BITS;
}

// The high bit of each dot of a word whose next byte ends a component.
static __always_inline __u64 dots_alone(__u64 word, __u64 limits, __u8 next)
{
	limits >>= 8;
	if (!next || next == '/')
		limits |= 1ull << 63;
	return limits & bytes_that_are(word, '.');
}

// Counts the components of a path, eight bytes at once: each begins behind a slash, or at the
// start; "." is none. The first byte of a word is its lowest: both processors are little-endian.
// No step branches on what an earlier one has found but around a dot, where both ways meet at once:
// the verifier walks each of them once or twice.
static __noinline int fill_depth(struct form *form, __u64 address)
{
	__u32 zero = 0;
	struct path_buffer *path = bpf_map_lookup_elem(&path_buffers, &zero);
	__u64 depth = 0, follows_slash = 0x80;
	long bytes;

	if (!form || !path)
		return 0;
	if (!address) {                 // Since Linux 6.11 no path at all is an empty one.
		form->depth = 0;
		form->flags |= EMPTY_PATH;
		return 0;
	}
	bytes = bpf_probe_read_user_str(path->words, PATH_BYTES, (void *)address);
	if (bytes <= 0) {
		count_unread();
		return 0;
	}
	if (bytes == PATH_BYTES)        // Its end is missing.
		count_unread();
	if (bytes == 1)
		form->flags |= EMPTY_PATH;
	for (__u32 i = 0; i < PATH_BYTES / 8; i++) {
		__u64 word = path->words[i], begin;
		__u64 slashes = bytes_that_are(word, '/'), ends = bytes_that_are(word, 0);
		__u8 next = path->words[i + 1];

		begin = (slashes << 8 | follows_slash) & ~slashes & HIGH_BITS;
		// The bytes before the first end; all without one.
		begin &= (ends & -ends) - 1;
		if (begin & bytes_that_are(word, '.'))
			begin &= ~dots_alone(word, slashes | ends, next);
		depth += ((begin >> 7) * EACH_BYTE) >> 56;
		// The path ends here, or with this word.
		if (ends || !next)
			break;
		follows_slash = slashes >> 56;
	}
	form->depth = depth;
	return 0;
}
