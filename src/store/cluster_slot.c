/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/cluster_slot.h"

#include <stddef.h>
#include <string.h>

/* CRC-16/XMODEM: x^16 + x^12 + x^5 + 1, from 0, no reflection. Bit by bit: it is done once a run.
 */
static unsigned int
crc16(const char *bytes, size_t length)
{
	unsigned int crc = 0;
	for (size_t i = 0; i < length; i++) {
		crc ^= (unsigned int)(unsigned char)bytes[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
		crc &= 0xffff;
	}
	return crc;
}

int
cluster_slot(const char *key)
{
	size_t length = strlen(key);
	const char *open = strchr(key, '{');
	const char *close = open != NULL ? strchr(open + 1, '}') : NULL;
	if (close != NULL && close > open + 1) {
		key = open + 1;
		length = (size_t)(close - key);
	}
	return (int)(crc16(key, length) % CLUSTER_SLOTS);
}
