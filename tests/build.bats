#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The Makefile and what is built by it, on copies of the tree: other tests run at the same time.
#
# shellcheck disable=SC2016 # dollars that another shell expands

load helpers/common
load helpers/copies

setup() { copies_setup; }

# The files below a directory, one a line, from there.
files_below() {
	(cd "$1" && find . -type f | sed 's|^\.||' | sort)
}

# built_tree: becomes the current directory: a tree with a dlock that was made with CFLAGS="$BUILT_FLAGS",
# by the first case that asks for it; BUILT_LOG is what make has said. It is to stay as it is, or to be removed.
built_tree() {
	BUILT_FLAGS='-O1 -g'
	BUILT_LOG=$BATS_FILE_TMPDIR/build.log
	if [ ! -e "$BATS_FILE_TMPDIR/tree" ]; then
		(cd "$BATS_FILE_TMPDIR" && copy_tree && make -j2 CFLAGS="$BUILT_FLAGS") >"$BUILT_LOG" 2>&1 ||
			fail "$(<"$BUILT_LOG")"
	fi
	cd "$BATS_FILE_TMPDIR/tree" || return 1
}

# --- make ---

@test "make: without a word of its own an installation is below /usr/local, and uninstall leaves nothing" {
	built_tree
	run make install DESTDIR="$WORK/a place" CFLAGS="$BUILT_FLAGS"
	assert_success
	cat >"$WORK/wanted" <<-'END'
		/usr/local/bin/dlock
		/usr/local/share/bash-completion/completions/dlock
		/usr/local/share/doc/dlock/examples/dlock.conf
		/usr/local/share/fish/vendor_completions.d/dlock.fish
		/usr/local/share/man/man1/dlock.1
		/usr/local/share/zsh/site-functions/_dlock
	END
	diff "$WORK/wanted" <(files_below "$WORK/a place")
	cmp dlock "$WORK/a place/usr/local/bin/dlock"
	diff man/dlock.1 "$WORK/a place/usr/local/share/man/man1/dlock.1"
	cmp completions/dlock.bash "$WORK/a place/usr/local/share/bash-completion/completions/dlock"
	for file in bin/dlock:755 share/man/man1/dlock.1:644 share/zsh/site-functions/_dlock:644; do
		assert_equal "$(stat -c %a "$WORK/a place/usr/local/${file%:*}")" "${file#*:}"
	done
	run make install DESTDIR="$WORK/a place" CFLAGS="$BUILT_FLAGS"
	assert_success
	run make uninstall DESTDIR="$WORK/a place"
	assert_success
	assert_equal "$(files_below "$WORK/a place")" ''
	assert [ ! -e "$WORK/a place/usr/local/share/doc/dlock" ]
	run make uninstall DESTDIR="$WORK/a place"
	assert_success
}

@test "make: two builds of one tree give the same bytes, wherever they are made, and no path of it" {
	built_tree
	mkdir deeper
	mkdir deeper/another
	for name in *; do
		case $name in
		build | deeper | dlock) ;;
		*) cp -R "$name" deeper/another ;;
		esac
	done
	mv deeper "$WORK"
	ln -s deeper/another "$WORK/link"
	(cd "$WORK/link" && TZ=Asia/Tokyo LC_ALL=C.UTF-8 make -s -j2 CFLAGS="$BUILT_FLAGS")
	cmp dlock "$WORK/deeper/another/dlock"
	run grep -cF -e "$WORK" -e "$PWD" dlock
	assert_output 0
}

@test "make: a first build has no warning, a second does nothing, flags and a header make it new" {
	built_tree
	run cat "$BUILT_LOG"
	assert_output --partial 'LINK dlock'
	refute_output --partial warning
	run ./dlock --version
	assert_success
	run make CFLAGS="$BUILT_FLAGS"
	assert_output ''
	touch src/exits.h
	run make CFLAGS="$BUILT_FLAGS"
	assert_output --partial 'LINK dlock'
	refute_output --partial base/clock
	run make CFLAGS='-O1 -DANOTHER' V=1 build/plain/src/base/clock.o
	assert_output --partial -DANOTHER
	run strings -a dlock
	refute_output --partial DLOCK_TEST_HOOKS

	run make clean
	assert_success
	assert [ ! -e dlock ]
	assert [ ! -e build ]
	rm -r "$PWD"
}

@test "make: PREFIX and each directory can be named, and the binary and its manual know SYSCONFDIR" {
	copy_tree
	printf '.Sh FILES\n.Pa /etc/dlock.conf\n' >>man/dlock.1
	settings=(CFLAGS=-O0 PREFIX=/p SYSCONFDIR=/p/etc MANDIR=/m BASHCOMPDIR=/b ZSHCOMPDIR=/z FISHCOMPDIR=/f
		DOCDIR=/d BINDIR=/bin)
	# A dlock.conf that is there belongs to who wrote it.
	mkdir -p "$WORK/dest/p/etc"
	echo 'ttl = 7s' >"$WORK/dest/p/etc/dlock.conf"
	run make -j2 install DESTDIR="$WORK/dest" "${settings[@]}"
	assert_success
	printf '%s\n' /b/dlock /bin/dlock /d/examples/dlock.conf /f/dlock.fish /m/man1/dlock.1 \
		/p/etc/dlock.conf /z/_dlock >"$WORK/wanted"
	diff "$WORK/wanted" <(files_below "$WORK/dest")
	grep -qF '/p/etc/dlock.conf' "$WORK/dest/m/man1/dlock.1"
	run grep -cF '/etc/dlock.conf' <(sed 's|/p/etc/dlock.conf||g' "$WORK/dest/m/man1/dlock.1")
	assert_output 0
	run "$WORK/dest/bin/dlock" --version
	assert_line --partial '/p/etc/dlock.conf'
	run make uninstall DESTDIR="$WORK/dest" "${settings[@]}"
	assert_success
	assert_equal "$(files_below "$WORK/dest")" /p/etc/dlock.conf
	assert_equal "$(<"$WORK/dest/p/etc/dlock.conf")" 'ttl = 7s'
}

@test "make: CC, CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS are used, and added to what dlock needs" {
	copy_tree
	run make -j2 CC=clang CPPFLAGS=-DONE_OF_CPPFLAGS CFLAGS='-O0 -fno-common' LDFLAGS=-Wl,--build-id=none \
		LDLIBS=-lm V=1 WERROR=1
	assert_success
	assert_equal "$(grep -c '^clang .*-DONE_OF_CPPFLAGS.* -O0 -fno-common -c ' <<<"$output")" \
		"$(find src -name '*.c' | wc -l)"
	assert_line --regexp '^clang -O0 -fno-common -Wl,--build-id=none -o dlock .* -l:?(lib)?hiredis(\.a)? .*-lm *$'
	run ./dlock --version
	assert_success
}

@test "make: only the test build can be told to leave a safety net off" {
	run grep -c DLOCK_TEST_HOOKS "$DLOCK_TEST_BUILD"
	assert_success
	run grep -c DLOCK_TEST_HOOKS "$ROOT_DIR/dlock"
	assert_output 0
}

@test "make: without the libraries one line says what is missing" {
	copy_tree
	run make PKG_CONFIG=false
	assert_failure
	assert_line --partial "hiredis uuid libssl ('make deps' installs them)"
	refute_output --partial 'error:'
}

@test "make: without pkg-config, or without a compiler, that same line is all there is to read" {
	copy_tree
	for setting in PKG_CONFIG=no-such-program CC=no-such-program; do
		run make "$setting"
		assert_failure
		assert_equal "${#lines[@]}" 2
		assert_line --index 0 --partial "hiredis uuid libssl ('make deps' installs them)"
		assert_line --index 1 --regexp '^make: \*\*\* .*build/flags'
	done
}

@test "make dist: an archive of what is committed" {
	copy_tree
	git init -q .
	git add -A
	git -c user.name=t -c user.email=t@t commit -qm t
	run make dist
	assert_success
	run tar tzf "build/dlock-$(<VERSION).tar.gz"
	assert_line "dlock-$(<VERSION)/Makefile"
	assert_line "dlock-$(<VERSION)/src/main.c"
}

@test "the Debian package has the version of VERSION" {
	run sed -n '1s/^dlock (\([^)]*\)) .*/\1/p' "$ROOT_DIR/debian/changelog"
	assert_output "$(<"$ROOT_DIR/VERSION")"
}

@test "the example of dlock.conf is commented out, and with the comments taken off dlock takes it" {
	run grep -cvE '^(#.*)?$' "$ROOT_DIR/examples/dlock.conf"
	assert_output 0
	sed 's/^#\([a-z]\)/\1/' "$ROOT_DIR/examples/dlock.conf" >dlock.conf
	[ "$(grep -c '^[a-z-]* = ' dlock.conf)" -ge 4 ]
	# A server that is not there: it is asked only when the whole file was taken.
	sed -i "s|^server = .*|server = unix://$WORK/no-such-socket|; /^password-file/d" dlock.conf
	run env DLOCK_CONFIG=dlock.conf "$DLOCK" -n job true
	assert_failure 69
	assert_output --partial no-such-socket
	echo 'no-such-option = 1' >>dlock.conf
	run env DLOCK_CONFIG=dlock.conf "$DLOCK" -n job true
	assert_failure 78
}

@test "tests/smoke passes with this dlock, and fails with one that does nothing" {
	run "$ROOT_DIR/tests/smoke"
	assert_success
	assert_equal "${lines[-1]}" 'smoke: 13 passed, 0 failed'
	printf '#!/bin/sh\nexit 0\n' >nothing
	chmod +x nothing
	export SMOKE_PATIENCE=1
	DLOCK=./nothing run "$ROOT_DIR/tests/smoke"
	assert_failure
	assert_regex "${lines[-1]}" '^smoke: [0-9]+ passed, [1-9][0-9]* failed'
	run "$ROOT_DIR/tests/smoke" no-such-server
	assert_failure
}

@test "embed-lua: what C gets is the script, without comments and indentation" {
	printf '%s\n' '-- a comment' 'local a = "x\n\\"' '' '	if a then' "		return 'q\"' -- kept" \
		'	-- another' '	end' >quote.lua
	"$ROOT_DIR/scripts/embed-lua" quote.lua >lua_scripts.h
	printf '%s\n' '#include "lua_scripts.h"' '#include <stdio.h>' \
		'int main(void) { fputs(lua_quote, stdout); fputs(lua_quote_sha1, stderr); return 0; }' >print.c
	gcc -Wall -Werror -o print print.c
	./print >got 2>sha1
	printf '%s\n' 'local a = "x\n\\"' 'if a then' "return 'q\"' -- kept" end >wanted
	diff wanted got
	assert_equal "$(<sha1)" "$(sha1sum <wanted | cut -d ' ' -f 1)"
}

@test "embed-lua: an include stands for the file beside it, and one that is not there is an error" {
	mkdir scripts
	printf '%s\n' 'local a = 1' '-- include part.lua' 'return a + b' >scripts/whole.lua
	run "$ROOT_DIR/scripts/embed-lua" scripts/whole.lua
	assert_failure
	assert_output --partial part.lua
	printf '%s\n' '-- a comment' '	local b = 2' >scripts/part.lua
	run -0 "$ROOT_DIR/scripts/embed-lua" scripts/whole.lua
	assert_line --index 5 --partial '"local a = 1\n"'
	assert_line --index 6 --partial '"local b = 2\n"'
	assert_line --index 7 --partial '"return a + b\n"'
	printf '%s\n' '--[[ no' 'no ]]' >scripts/part.lua
	run -1 "$ROOT_DIR/scripts/embed-lua" scripts/whole.lua
	assert_output --partial whole.lua
}

@test "embed-lua: a block comment is refused with its place" {
	printf '%s\n' 'return 1' '--[[ no' 'no ]]' >block.lua
	run "$ROOT_DIR/scripts/embed-lua" block.lua
	assert_failure
	assert_output --partial block.lua
	assert_output --partial 2:
}
