#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# TLS that does not come about: each time COMMAND does not run, and one line says why.
#
# shellcheck disable=SC2016,SC2154 # dollars for the other shell; stderr is set by run

load helpers/common
load helpers/tls

setup_file() {
	mkdir "$BATS_FILE_TMPDIR/files" && cd "$BATS_FILE_TMPDIR/files" || return 1
	make_files
	make_ca other
	make_certificate client other DNS:client
	make_certificate expired ca DNS:localhost -days -1
}

setup() {
	common_setup
	cp "$BATS_FILE_TMPDIR"/files/* .
}

# refused STATUS TEXT ARG...: dlock ends so, in time, COMMAND does not run, and one line has TEXT.
refused() {
	local status=$1 text=$2
	shift 2
	start_clock
	run --separate-stderr "-$status" dlock "$@" job touch ran
	[ ! -e ran ] || fail 'COMMAND ran'
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -eq 1 ] || fail "$stderr"
	[[ "$stderr" == "dlock: "*"$text"* ]] || fail "$stderr"
	assert_between 0 4500 "$(clock_ms)" milliseconds
}

# The server of this test has NAME's certificate.
serve() {
	cp "$1.pem" server.pem
	cp "$1.key" server.key
	shift
	start_tls_redis "$@"
}

@test "an unknown CA, no CA, a wrong name, a wrong address: 77 and the reason" {
	start_tls_redis
	refused 77 "the server's certificate is not trusted: " --cacert other.pem
	refused 77 "--cacert FILE names the CA to trust"
	make_certificate server ca DNS:db1.example,IP:10.0.0.1
	redis CONFIG SET tls-cert-file "$WORK/server.pem" # which reads the key again, too
	refused 77 "cannot lock 'job' at rediss://localhost:$TLS_PORT: the server's certificate is not for 'localhost'" \
		--cacert ca.pem
	refused 77 "the server's certificate is not for '127.0.0.1'" --cacert ca.pem -S "rediss://127.0.0.1:$TLS_PORT"
	[ "$(scripts_run)" = 0 ]
}

@test "a name is not proved by an address, nor an address by a name; a wildcard is one whole label" {
	make_certificate server ca 'DNS:127.0.0.1,DNS:*.example.net,DNS:db*.example.org'
	start_tls_redis
	refused 77 "is not for '127.0.0.1'" --cacert ca.pem -S "rediss://127.0.0.1:$TLS_PORT"
	refused 77 "is not for 'a.b.example.net'" --cacert ca.pem --sni a.b.example.net
	refused 77 "is not for 'db1.example.org'" --cacert ca.pem --sni db1.example.org
	run -0 dlock --cacert ca.pem --sni a.example.net job true
}

@test "an expired certificate, and one that signed itself: 77 and the reason" {
	serve expired
	refused 77 "the server's certificate is not accepted: certificate has expired" --cacert ca.pem
	openssl req -x509 "${KEY_KIND[@]}" -keyout server.key -out server.pem -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost -days 3 2>/dev/null
	redis CONFIG SET tls-cert-file "$WORK/server.pem" # which reads the key again, too
	refused 77 'self-signed certificate' --cacert ca.pem
	run -0 dlock --insecure job true
}

@test "--status, --list and --break: the same status and words" {
	local report
	start_tls_redis
	for report in '--status job' --list '--break job'; do
		# shellcheck disable=SC2086 # words
		run -77 dlock --cacert other.pem $report
		assert_output --partial "the server's certificate is not trusted"
		assert_equal "${#lines[@]}" 1
	done
}

@test "while waiting in line a certificate that is no longer good ends the wait: 77" {
	start_tls_redis
	redis SET lock:job other PX 60000
	start_dlock --cacert ca.pem job touch ran
	wait_until 5s in_line
	cp expired.pem server.pem
	cp expired.key server.key
	redis CONFIG SET tls-cert-file "$WORK/server.pem" # which reads the key again, too
	redis CLIENT KILL TYPE pubsub
	exit_status_of "$OUTER" 20s
	assert_equal "$STATUS" 77
	grep -q 'certificate has expired' "$DLOCK_LOG"
	[ ! -e ran ]
}

in_line() {
	[ "$(redis ZCARD 'lock:job#queue{lock:job}')" = 1 ]
}

@test "a client certificate that is wanted and not given, or of an unknown CA: the alert's text, 77" {
	local protocol
	for protocol in TLSv1.3 TLSv1.2; do
		start_tls_redis --tls-auth-clients yes --tls-protocols "$protocol"
		refused 77 'the server refuses us: ' --cacert ca.pem
		[[ "$stderr" == *'(give a certificate: --cert, --key)'* ]] || fail "$stderr"
		[ "$protocol" = TLSv1.2 ] || [[ "$stderr" == *'certificate required'* ]] || fail "$stderr"
		refused 77 'the server refuses our certificate (--cert): unknown ca' --cacert ca.pem \
			--cert client.pem --key client.key
		stop_redis
	done
}

@test "a plain server on the port: 69 within --connect-timeout, and the question whether it speaks TLS (R78)" {
	start_tls_redis
	refused 69 'does the server speak TLS on this port?' --cacert ca.pem --connect-timeout 1s \
		-S "rediss://localhost:$REDIS_PORT"
	refused 69 'does the server speak TLS on this port?' --tls --cacert ca.pem --connect-timeout 1s \
		-S "redis://localhost:$REDIS_PORT"
}

@test "a silent port: 69 within --connect-timeout, and unreachable to --if-unreachable (R78)" {
	start_peer silent
	refused 69 'no answer to the TLS handshake in time' --connect-timeout 500ms -S "rediss://localhost:$PEER_PORT"
	run -0 dlock --if-unreachable skip --connect-timeout 500ms -S "rediss://localhost:$PEER_PORT" job touch ran
	run -69 dlock --status --connect-timeout 500ms -S "rediss://localhost:$PEER_PORT" job
	assert_output --partial 'no answer to the TLS handshake in time'
	[ ! -e ran ]
}

@test "somebody who answers, but not in TLS: 69, and not unreachable" {
	local text
	for text in 'HTTP/1.1 400 Bad Request\r\n\r\n' 'SSH-2.0-OpenSSH_9.2\r\n' '-ERR Protocol error\r\n'; do
		start_peer say "$text"
		refused 69 'the server does not speak TLS on this port' -S "rediss://localhost:$PEER_PORT"
		refused 69 'the server does not speak TLS on this port' --if-unreachable skip -S "rediss://localhost:$PEER_PORT"
		rm peer.port
	done
	start_peer close
	refused 69 'the server closed the connection instead of speaking TLS' -S "rediss://localhost:$PEER_PORT"
}

@test "a server with TLS at a plain URL: 69, and what to write" {
	start_tls_redis
	refused 69 'rediss://' -S "redis://localhost:$TLS_PORT"
	start_peer say '\x15\x03\x01\x00\x02\x02\x46'
	refused 69 'it speaks TLS, so write rediss:// or --tls' -S "redis://localhost:$PEER_PORT"
}

@test "a server that has nothing newer than TLS 1.1: 69 and the reason" {
	start_peer old server.pem server.key
	refused 69 'the server has no TLS 1.2 or newer' --cacert ca.pem -S "rediss://localhost:$PEER_PORT"
}

@test "who hangs up in the handshake, as a server does that takes no more clients, and who is too slow in it: 69" {
	local order
	start_tls_redis
	mkfifo orders
	redis-cli -s "$REDIS_SOCK" <orders >answers 2>&1 3>&- &
	track "$!"
	exec {order}>orders
	printf 'CONFIG SET maxclients 1\nPING\n' >&"$order"
	wait_until 5s grep -q PONG answers
	refused 69 'the server closed the connection instead of speaking TLS (so does one that takes no more clients)' --cacert ca.pem
	printf 'CONFIG SET maxclients 100\n' >&"$order"
	exec {order}>&-
	start_peer reset
	refused 69 'the server closed the connection instead of speaking TLS' -S "rediss://localhost:$PEER_PORT"
	rm peer.port
	start_peer trickle "$TLS_PORT"
	refused 69 'the TLS handshake was not over in time' --cacert ca.pem --connect-timeout 1s -S "rediss://localhost:$PEER_PORT"
}

@test "a server is asked for a name, not for an address; one that does not know the name: 69, and the name" {
	make_certificate server ca DNS:localhost,IP:127.0.0.1
	start_peer named db1.example server.pem server.key
	refused 69 "the server has no certificate for 'localhost' (--sni asks for another name)" --cacert ca.pem -S "rediss://localhost:$PEER_PORT"
	refused 77 "is not for 'db1.example'" --cacert ca.pem --sni db1.example -S "rediss://localhost:$PEER_PORT"
	refused 69 'the server closed the connection' --cacert ca.pem -S "rediss://127.0.0.1:$PEER_PORT"
	[[ "$stderr" != *'instead of speaking TLS'* ]]
}

@test "an address that hangs in the handshake leaves time for the next one" {
	make_certificate server ca DNS:two.example
	start_tls_redis --bind 127.0.0.2
	# The C library puts it first: it is nearer to the address that one connects from.
	start_peer silent 127.0.0.1 "$TLS_PORT"
	start_clock
	run -0 at_two_addresses --connect-timeout 4s job true
	# Half of the time was the first one's.
	assert_between 1900 4000 "$(clock_ms)" milliseconds
}

@test "of several addresses a certificate that is not accepted is told of, not that the others are dead or silent: 77" {
	start_tls_redis
	run -77 at_two_addresses --connect-timeout 1s job touch ran
	assert_output --partial "the server's certificate is not for 'two.example'"
	start_peer silent 127.0.0.2 "$TLS_PORT"
	run -77 at_two_addresses --connect-timeout 1s job touch ran
	assert_output --partial "the server's certificate is not for 'two.example'"
	[ ! -e ran ]
}

# At 127.0.0.1, which the C library puts first, and 127.0.0.2.
at_two_addresses() {
	printf '127.0.0.2 two.example\n127.0.0.1 two.example\n' >hosts
	unshare -m sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh "$DLOCK" -n --cacert ca.pem \
		-S "rediss://two.example:$TLS_PORT" "$@"
}

@test "a bad file: 78, which one and why; at first contact, the server not asked" {
	start_tls_redis
	refused 78 "--cacert '$WORK/none': No such file" --cacert "$WORK/none"
	refused 78 "--cacert '$WORK': not a file" --cacert "$WORK"
	mkfifo pipe
	refused 78 "--cacert '$WORK/pipe': not a file" --cacert "$WORK/pipe"
	refused 78 "--cacertdir 'ca.pem': not a directory" --cacertdir ca.pem
	refused 78 "--cacert 'server.key': no certificate in it" --cacert server.key
	refused 78 "--cert 'server.key': no certificate in it" --cert server.key --key server.key
	refused 78 "--key 'ca.pem': no private key in it" --cert client.pem --key ca.pem
	refused 78 "--key 'ca.key': it is not the key of the certificate in --cert" --cert client.pem --key ca.key
	openssl ec -in client.key -aes256 -passout pass:hush -out locked.key 2>/dev/null
	refused 78 "--key 'locked.key': it is encrypted: dlock asks for no passphrase" --cert client.pem --key locked.key
	run -78 dlock --status --cacert "$WORK/none" job
	assert_output --partial 'No such file'
	[ "$(redis INFO stats | tr -d '\r' | sed -n 's/^total_connections_received://p')" -lt 20 ]
}

@test "a machine without libssl: 71 and one line; in clear nothing is missed" {
	start_tls_redis
	export ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
	run -71 env LD_PRELOAD="$TOOLS/no_libssl_preload.so" "$DLOCK" --cacert ca.pem job touch ran
	assert_output --partial "cannot lock 'job' at rediss://localhost:$TLS_PORT: TLS needs OpenSSL, and this machine has no libssl"
	assert_equal "${#lines[@]}" 1
	[ ! -e ran ]
	run -71 env LD_PRELOAD="$TOOLS/no_libssl_preload.so" "$DLOCK" --cacert ca.pem --status job
	run -0 env LD_PRELOAD="$TOOLS/no_libssl_preload.so" "$DLOCK" -S "$URL_TCP" job true
}

@test "no descriptor is left for libssl, or it is no library: 71 and the reason, not that there is none" {
	start_tls_redis
	run -71 prlimit --nofile=5: "$DLOCK" --cacert ca.pem job touch ran 3>&- 4>&-
	assert_output --regexp "^dlock: cannot lock 'job' at rediss://localhost:$TLS_PORT: TLS needs OpenSSL: libssl[^ ]*: .*Too many open files\$"
	# With a few more, it is the CA that cannot be looked for: the certificate is not to blame.
	mkdir cas lib
	cp ca.pem cas
	openssl rehash cas
	said=
	for few in {5..20}; do
		run --separate-stderr prlimit "--nofile=$few:" "$DLOCK" --cacertdir cas -S "rediss://127.0.0.1:$TLS_PORT" job true 3>&- 4>&-
		[[ $status =~ ^(0|71)$ ]] || fail "$few descriptors: $status: $stderr"
		said+=$stderr
	done
	[ "$status" = 0 ]
	[[ $said == *"cannot look for the CA of the server's certificate: Too many open files"* ]]
	echo no library >lib/libssl.so.3
	run -71 env LD_LIBRARY_PATH="$WORK/lib" "$DLOCK" --cacert ca.pem job touch ran
	assert_output --partial "TLS needs OpenSSL: $WORK/lib/libssl.so.3: file too short"
	[ ! -e ran ]
}

# --- the options ---

@test "usage: what contradicts itself is refused, by whoever named the server" {
	local option
	for option in '--cacert ca.pem' '--cacertdir .' '--cert client.pem' '--key client.key' '--sni db1' --insecure; do
		# shellcheck disable=SC2086 # words
		refused 64 "${option% *} is for TLS, and the server URL names one in clear: write rediss://" \
			-S redis://127.0.0.1:1 $option
	done
	refused 64 '--tls does not go with unix://' --tls -S unix:///run/s
	refused 64 '--tls does not go with unix://' -S 'unix:///run/s?tls'
	refused 64 '--cert and --key go together' -S rediss://127.0.0.1:1 --cert client.pem
	refused 64 '--cert and --key go together' -S rediss://127.0.0.1:1 --key client.key
	refused 64 '--sni is a name, not an address' -S rediss://127.0.0.1:1 --sni ::1
	refused 64 'cannot be read again for the next connection' -S rediss://127.0.0.1:1 --cacert /dev/fd/7
	refused 64 "bad cacert in the server URL: '/dev/fd/7' cannot be read again" -S 'rediss://127.0.0.1:1?cacert=/dev/fd/7'
	refused 64 'no file named' -S rediss://127.0.0.1:1 --cacert ''
	refused 64 "bad tls in the server URL: neither 'yes' nor 'no'" -S 'redis://127.0.0.1:1?tls=maybe'
	refused 64 '--cacert is for TLS' -S 'redis://127.0.0.1:1?cacert=ca.pem'
	refused 64 'has at most 511 bytes' -S rediss://127.0.0.1:1 --cacert "$(printf 'x%.0s' {1..512})"
}

@test "usage: a config file has settings of TLS for the servers that need them, and contradicts itself with 78" {
	start_tls_redis
	printf 'cacert = %s\nsni = localhost\n' "$WORK/ca.pem" >conf
	run -0 dlock --config conf -S "$URL_TCP" job true
	run -0 dlock --config conf -S "$URL_UNIX" job true
	run -0 dlock --config conf -S "rediss://127.0.0.1:$TLS_PORT" job true
	echo "server = redis://127.0.0.1:1" >>conf
	DLOCK_SERVER='' run -78 dlock --config conf job true
	assert_output --partial '--cacert is for TLS'
	printf 'tls = yes\n' >conf
	run -0 dlock --config conf -S "$URL_UNIX" job true
	printf 'tls = yes\nserver = unix:///run/s\n' >conf
	DLOCK_SERVER='' run -78 dlock --config conf job true
	assert_output --partial '--tls does not go with unix://'
}

@test "rediss:// is never spoken in clear, whatever else the URL says" {
	start_tls_redis
	run -69 dlock --connect-timeout 500ms -S "rediss://localhost:$REDIS_PORT?tls=no" job touch ran
	assert_output --partial 'TLS handshake'
	[ ! -e ran ]
	[ "$(scripts_run)" = 0 ]
}
