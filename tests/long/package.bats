#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The Debian package: it is built, lintian finds no error, and what is in it works.

load ../helpers/common

setup_file() {
	export BUILD=$BATS_FILE_TMPDIR
	unset DESTDIR PREFIX SYSCONFDIR
	"$ROOT_DIR/scripts/make-deb" >"$BUILD/log" 2>&1 || { cat "$BUILD/log"; return 1; }
}

setup() {
	common_setup
	version=$(<"$ROOT_DIR/VERSION")
	deb=$(echo "$BUILD"/deb/dlock_"$version"_*.deb)
}

@test "the package has the version of this tree, and depends on what dlock links" {
	run dpkg-deb --field "$deb" Version
	assert_output "$version"
	run dpkg-deb --field "$deb" Depends
	assert_output --regexp '^libc6.*, libhiredis.*, libuuid1'
	refute_output --partial libssl
}

@test "lintian finds neither error nor warning" {
	run lintian --fail-on error,warning "$BUILD"/deb/*.changes
	assert_success
	refute_output --regexp '(^|\n)[EW]:'
}

@test "every file that make install knows is in the package, and none of /etc" {
	make -C "$ROOT_DIR" -s install DESTDIR="$WORK/dest" PREFIX=/usr >/dev/null
	dpkg-deb -x "$deb" unpacked
	(cd dest && find . -type f) | sed -e 's|\(/man1/.*\)|\1.gz|' -e 's|site-functions|vendor-completions|' |
		sort >wanted
	[ "$(wc -l <wanted)" -ge 3 ]
	(cd unpacked && find . -type f) | sort >there
	run comm -23 wanted there
	assert_output ''
	assert [ ! -e unpacked/etc ]
	[ -s unpacked/usr/share/doc/dlock/copyright ]
}

@test "the dlock of the package passes the smoke test" {
	dpkg-deb -x "$deb" unpacked
	DLOCK=$PWD/unpacked/usr/bin/dlock run "$ROOT_DIR/tests/smoke"
	assert_success
	assert_line --partial ' 0 failed'
}

@test "built twice, in different places, the package is the same bytes" {
	cp -R "$BUILD/deb/dlock-$version" again
	(cd again && dpkg-buildpackage -us -uc -b >../log 2>&1) || { cat log; return 1; }
	cmp "$deb" dlock_"$version"_*.deb
}
