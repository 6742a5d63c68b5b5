#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# docs/fencing.md: its blocks that have a name are taken out of the page and run, so that the page and what
# is tested cannot differ.
#
#   take_blocks      each becomes a file of that name in the current directory, which is put into PATH

PAGE=$ROOT_DIR/docs/fencing.md

take_blocks() {
	awk '
		/^```./ { split($0, word, /[` ]+/); file = word[3]; next }
		/^```/ { file = ""; next }
		file != "" { print >file }
	' "$PAGE"
	chmod +x write-report s3-put fenced-write at-most-once
	ln -s "$DLOCK" dlock
	PATH=$PWD:$PATH
}
