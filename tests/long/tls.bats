#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# TLS: all that dlock does goes over it as it does in clear, and what was rotated is read again. What is
# refused is in tls_refused.bats.
#
# shellcheck disable=SC2016 # dollars for the other shell

load ../helpers/common
load ../helpers/proxy
load ../helpers/secrets
load ../helpers/tls

setup_file() {
	mkdir "$BATS_FILE_TMPDIR/files" && cd "$BATS_FILE_TMPDIR/files" || return 1
	make_files
	make_ca other
	make_certificate client ca DNS:client
}

setup() {
	common_setup
	cp "$BATS_FILE_TMPDIR"/files/* .
	export DLOCK_CONFIG=$WORK/conf
	echo "cacert = $WORK/ca.pem" >conf
}

# The connections of dlock that the server has, by what they came in on.
# at_port PORT: those of CLIENT LIST. Before 6.2 it does not tell; but dlock has been told of no other.
at_port() {
	if server_has 6.2; then grep "laddr=127.0.0.1:$1 "; else grep 'addr=127.0.0.1:'; fi
}

clients_at() {
	redis CLIENT LIST | grep name=dlock | at_port "$1" | wc -l
}

@test "a run over TLS: by name and by address, the lock is taken and given back, COMMAND's status passed on" {
	local host
	start_tls_redis --port 0
	for host in localhost 127.0.0.1; do
		run -3 dlock -v -S "rediss://$host:$TLS_PORT" job sh -c "redis-cli -s '$REDIS_SOCK' GET lock:job; exit 3"
		assert_line --regexp '^[0-9a-f-]{36}$'
		assert_line --partial released
		free job
	done
	# And it was TLS: in clear there is no port here, and the server has counted.
	[ "$(redis INFO stats | tr -d '\r' | sed -n 's/^total_connections_received://p')" -ge 2 ]
	run -69 dlock -n -S "redis://localhost:$TLS_PORT" job touch ran
	[ ! -e ran ]
}

@test "the ways to say it: --tls, the query, the config file; the URL that people see is rediss://" {
	start_tls_redis
	run -0 dlock --tls -S "redis://localhost:$TLS_PORT" job true
	run -0 dlock -S "redis://localhost:$TLS_PORT?tls" job true
	run -0 dlock -S "redis://localhost:$TLS_PORT?tls=yes" job true
	echo tls >>conf
	run -0 dlock -S "redis://localhost:$TLS_PORT" job true
	: >conf
	run -77 dlock job true
	assert_output --partial "at rediss://localhost:$TLS_PORT: the server's certificate is not trusted"
	run -0 dlock -S "rediss://localhost:$TLS_PORT?cacert=$WORK/ca.pem" job true
	run -0 dlock -S "rediss://localhost:$TLS_PORT/0?cacert=${WORK//\//%2f}/ca.pem" job true
	run -0 dlock --cacert ca.pem job true
	run -0 dlock --insecure job true
	run -0 dlock -S "rediss://localhost:$TLS_PORT?insecure" job true
}

@test "--cacertdir, and the system's store by default" {
	start_tls_redis
	: >conf
	mkdir cas
	cp ca.pem cas
	openssl rehash cas
	run -0 dlock --cacertdir cas job true
	run -77 dlock job true
	# The system's store is what OpenSSL says it is.
	run -0 env SSL_CERT_FILE=ca.pem "$DLOCK" job true
	run -0 env SSL_CERT_DIR=cas "$DLOCK" job true
	# And it is not asked beside the CAs that are named.
	run -77 env SSL_CERT_FILE=ca.pem "$DLOCK" --cacert other.pem job true
}

@test "--sni is asked for, and verified in place of the host" {
	make_certificate server ca DNS:db1.example
	start_tls_redis
	run -77 dlock job touch ran
	assert_output --partial "the server's certificate is not for 'localhost'"
	run -0 dlock --sni db1.example job true
	run -0 dlock -S "rediss://127.0.0.1:$TLS_PORT?sni=db1.example" job true
	run -77 dlock --sni db2.example job touch ran
	assert_output --partial "is not for 'db2.example'"
	[ ! -e ran ]
}

@test "a name and an address are verified without what look-ups alone understand: a dot at the end, a scope" {
	make_certificate server ca DNS:db1.example,IP:::1
	start_tls_redis --bind 127.0.0.1 ::1
	run -0 dlock -S "rediss://[::1]:$TLS_PORT" job true
	run -0 dlock -S "rediss://[::1%251]:$TLS_PORT" job true
	printf '127.0.0.1 db1.example.\n' >hosts
	run -0 unshare -m sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh "$DLOCK" -S "rediss://db1.example.:$TLS_PORT" job true
}

@test "files that are no good while the lock is held or waited for cost nothing until a connection is made, and are read again at each try" {
	local file holder
	start_tls_redis --tls-auth-clients yes
	printf 'cert = %s\nkey = %s\n' "$WORK/client.pem" "$WORK/client.key" >>conf
	for file in ca.pem client.key; do
		start_dlock -vv --ttl 12s job sh -c 'until [ -e go ]; do sleep 0.05; done; exit 23'
		holder=$OUTER
		wait_until 5s running "$holder"
		start_dlock --ttl 12s -w 60s job touch waited
		wait_until 5s in_line 1
		cp "$file" kept
		echo garbage >"$file" # as while it is copied, or a key before its certificate
		wait_until 8s lines_match 2 'confirmed t0=' # on the connection that is there
		run ! grep 'cannot renew' "$DLOCK_LOG"
		redis CLIENT KILL TYPE normal SKIPME yes >/dev/null
		redis CLIENT KILL TYPE pubsub >/dev/null
		wait_until 3s grep -q "cannot renew 'job' .*$file': no " "$DLOCK_LOG"
		wait_until 3s has_connections 0
		cp kept "$file"
		wait_until 6s has_connections 2
		touch go
		exit_status_of "$holder" 10s
		assert_equal "$STATUS" 23
		exit_status_of "$OUTER" 10s
		assert_equal "$STATUS" 0
		[ -e waited ]
		refute grep -q lost "$DLOCK_LOG"
		rm go waited
		: >"$DLOCK_LOG"
	done
}

@test "a client certificate is shown to the server" {
	start_tls_redis --tls-auth-clients yes
	run -0 dlock --cert client.pem --key client.key job true
	cat client.pem client.key >both.pem
	run -0 dlock -S "rediss://localhost:$TLS_PORT?cert=$WORK/both.pem&key=$WORK/both.pem" job true
	printf 'cert = %s\nkey = %s\n' "$WORK/client.pem" "$WORK/client.key" >>conf
	run -0 dlock job true
}

@test "the config file of the man page is one" {
	start_tls_redis --tls-auth-clients yes
	redis ACL SETUSER dlock on '>hush' '~lock:*' '&lock:*' +@all >/dev/null
	echo hush >password
	sed -n '/^\.Sh TLS$/,/^\.Sh /{/^\.Bd -literal/,/^\.Ed/{/^\./!p}}' "$ROOT_DIR/man/dlock.1" |
		sed -e "s|/etc/dlock/|$WORK/|" -e "s|db1.example.net|localhost:$TLS_PORT|" >conf
	assert_equal "$(grep -c '' conf)" 5
	run -0 env -u DLOCK_SERVER "$DLOCK" job sh -c "redis-cli -s '$REDIS_SOCK' CLIENT LIST"
	assert_line --regexp 'name=dlock .*user=dlock( |$)'
}

@test "TLS 1.2 is spoken too" {
	start_tls_redis --tls-protocols TLSv1.2
	run -0 dlock job true
	run -1 dlock --status --json job
	assert_line --partial '"state":"free"'
}

@test "users, passwords and databases are what they are in clear" {
	start_tls_redis
	redis ACL SETUSER ann on '>hush' '~*' '&*' +@all >/dev/null
	run -0 dlock -S "rediss://ann:hush@localhost:$TLS_PORT/3" job redis-cli -s "$REDIS_SOCK" -n 3 EXISTS lock:job
	assert_output 1
	run -77 dlock -S "rediss://ann:nohush@localhost:$TLS_PORT/3" job touch ran
	assert_output --partial WRONGPASS
	refute_output --partial nohush
}

@test "TLS keeps no copy of the password where a core dump would have it" {
	# ASan keeps copies of what was freed.
	! strings -n 8 "$DLOCK" | grep -q '__asan_init' || skip 'a sanitized dlock'
	start_tls_redis
	protect_redis
	start_dlock -t 3s --watch --password-file pw job sleep 60
	wait_until 5s running "$OUTER"
	wait_until 5s has_connections 2
	assert_equal "$(memory_with "$SECRET" "$OUTER")" ''
	assert_equal "$(memory_with "$SECRET" "$RUNNER")" ''
	assert_secret holding
}

@test "--check over TLS" {
	start_tls_redis
	run -0 dlock --check
	assert_output --partial "rediss://localhost:$TLS_PORT"
	run -77 dlock --check --cacert other.pem
	assert_output --partial "the server's certificate is not trusted"
}

@test "waiters stand in line over TLS, and the lock is handed on" {
	local i
	start_tls_redis
	start_dlock job sleep 900
	local holder=$OUTER
	wait_until 3s held job
	for i in 1 2 3; do
		start_dlock job sh -c "echo $i >>order"
		wait_until 5s in_line "$i"
	done
	run -75 dlock -n job true
	assert_output --partial "'job' is held by"
	kill -TERM "$holder"
	wait_until 10s lines_in order 3
	assert_equal "$(tr '\n' ' ' <order)" '1 2 3 '
	wait_until 5s free job
}

in_line() {
	[ "$(redis ZCARD 'lock:job#queue{lock:job}')" = "$1" ]
}

lines_match() {
	[ "$(grep -c "$2" "$DLOCK_LOG")" -ge "$1" ]
}

lines_in() {
	[ -e "$1" ] && [ "$(wc -l <"$1")" = "$2" ]
}

@test "the lock is renewed over TLS" {
	start_tls_redis
	start_dlock --ttl 1s job sleep 3
	wait_until 3s held job
	sleep 2 # two TTLs
	held job
	exit_status_of "$OUTER" 10s
	assert_equal "$STATUS" 0
	[ ! -s "$DLOCK_LOG" ] || fail "$(<"$DLOCK_LOG")"
}

@test "--status, --list and --break over TLS" {
	start_tls_redis
	start_dlock job sleep 900
	wait_until 3s held job
	run -0 dlock --status job
	assert_output --partial 'sleep'
	run -0 dlock --list
	assert_output --partial job
	run -0 dlock --break job
	exit_status_of "$OUTER" 20s
	assert_equal "$STATUS" 79
}

@test "--watch: the second connection is in TLS too, and tells of a loss at once" {
	local before
	start_tls_redis
	start_dlock --watch --ttl 12s -k 0 job sleep 900
	wait_until 8s has_connections 2 # the second comes with the first renewal
	assert_equal "$(clients_at "$TLS_PORT")" 2
	wait_until 2s is_tracking
	before=$(boottime)
	redis DEL lock:job
	exit_status_of "$OUTER" 8s
	assert_equal "$STATUS" 79
	assert_between 0 2500 "$(elapsed_ms "$before")" 'milliseconds, long before the next renewal'
}

has_connections() {
	[ "$(redis CLIENT LIST | grep -c name=dlock)" = "$1" ]
}

is_tracking() {
	[ "$(redis INFO clients | tr -d '\r' | sed -n 's/^tracking_clients://p')" = 1 ]
}

@test "one byte at a time, both ways: handshake, run, wait in line, report" {
	start_tls_redis
	start_peer drip "$TLS_PORT"
	export DLOCK_SERVER=rediss://localhost:$PEER_PORT
	run -0 dlock --connect-timeout 20s --ttl 60s job echo ran
	assert_output ran
	start_dlock --connect-timeout 20s --ttl 60s job sleep 900
	wait_until 20s held job
	local holder=$OUTER
	start_dlock --connect-timeout 20s --ttl 60s job touch waited
	wait_until 20s in_line 1
	run -0 dlock --connect-timeout 20s --status --json job
	assert_output --partial '"waiters":[{'
	kill -TERM "$holder"
	wait_until 20s test -e waited
}

@test "an answer longer than a record of TLS, and a request longer than a read, arrive whole" {
	local i label
	start_tls_redis
	label=$(printf 'x%.0s' {1..200})
	for i in {1..40}; do
		redis SET "lock:$i" "$i" PX 600000 >/dev/null
		redis HSET "lock:$i#info{lock:$i}" "$i" "host=h
label=$label
" >/dev/null
	done
	run -0 dlock --list --json
	assert_equal "$(grep -o '"name":' <<<"$output" | wc -l)" 40
	assert_equal "$(grep -o "$label" <<<"$output" | wc -l)" 40
	# 30,000 bytes of password are more than one flight.
	redis ACL SETUSER default ">$(printf 'p%.0s' {1..8000})" >/dev/null
	printf 'p%.0s' {1..8000} >password
	redis-cli -s "$REDIS_SOCK" CONFIG GET port >/dev/null
	run -0 dlock --password-file password job true
	redis-cli -s "$REDIS_SOCK" -a "$(<password)" --no-auth-warning ACL SETUSER default nopass >/dev/null
}

@test "a new certificate of a new CA in the same file: the connection is made anew, the lock held through" {
	start_tls_redis --appendonly yes --appendfsync always
	start_dlock --ttl 6s job sleep 12
	wait_until 5s held job
	local token
	token=$(redis GET lock:job)
	kill -KILL "$REDIS_PID"
	wait_until 2s gone "$REDIS_PID"
	make_certificate server other DNS:localhost
	cp other.pem ca.pem
	restart_redis
	wait_until 6s renewed_over_tls
	assert_equal "$(redis GET lock:job)" "$token"
	exit_status_of "$OUTER" 20s
	assert_equal "$STATUS" 0
	refute grep -q lost "$DLOCK_LOG"
}

renewed_over_tls() {
	redis CLIENT LIST | grep 'name=dlock' | at_port "$TLS_PORT" | grep -q ' cmd=eval'
}

@test "a certificate that expires while the lock is held disturbs nobody; a connection that is cut then is not made again" {
	start_tls_redis
	PROXY_TARGET=$TLS_PORT start_proxy
	export DLOCK_SERVER=rediss://localhost:$PROXY_PORT
	start_dlock --ttl 2s -k 100ms job sleep 900
	wait_until 3s held job
	make_certificate server ca DNS:localhost -days -1
	redis CONFIG SET tls-cert-file "$WORK/server.pem" # which reads the key again, too
	sleep 3 # a TTL and a half
	alive "$OUTER"
	proxy reset
	exit_status_of "$OUTER" 10s
	assert_equal "$STATUS" 79
	grep -q 'certificate has expired' "$DLOCK_LOG"
}

@test "a connection that is reset again and again while the lock is held is made again each time" {
	local i
	start_tls_redis
	PROXY_TARGET=$TLS_PORT start_proxy
	export DLOCK_SERVER=rediss://localhost:$PROXY_PORT
	start_dlock --ttl 3s job sleep 6
	wait_until 3s held job
	for i in {1..8}; do
		proxy reset
		sleep 0.4
	done
	exit_status_of "$OUTER" 15s
	assert_equal "$STATUS" 0
	wait_until 3s free job
}

@test "promise 1 holds over TLS: the server is frozen, COMMAND is dead before the key expires" {
	local before nap
	nap=$(unique_sleep)
	start_tls_redis
	start_dlock --ttl 2s -k 100ms job sh -c "exec sleep $nap"
	wait_until 3s held job
	wait_until 2s argv_count "$nap" 1
	before=$(boottime)
	kill -STOP "$REDIS_PID"
	wait_until 3s argv_gone "$nap"
	assert_between 0 2000 "$(elapsed_ms "$before")" 'milliseconds until it was dead'
	kill -CONT "$REDIS_PID"
	exit_status_of "$OUTER" 10s
	assert_equal "$STATUS" 79
}

# TLS says goodbye with an alert: sent by OUTER, whose copy of the connection it is not, it would end
# RUNNER's.
@test "OUTER says nothing on the connection that RUNNER has; neither loads libssl a second time" {
	start_tls_redis
	start strace -f -qq -o trace -e trace=write,sendto,close,openat,execve "$DLOCK" --ttl 1s job sleep 2.5
	exit_status_of "$STARTED" 15s
	assert_equal "$STATUS" 0
	assert_equal "$(grep -c 'openat.*libssl' trace)" 1
	local outer fd
	outer=$(head -n 1 trace | cut -d ' ' -f 1)
	# The connection's descriptor: the one that the first TLS record, a ClientHello, went to.
	fd=$(grep -m 1 'write(.*"\\26\\3\\1' trace | sed 's/.*write(\([0-9]*\),.*/\1/')
	[ -n "$fd" ]
	# From RUNNER's first record on OUTER writes nothing there.
	run awk -v outer="$outer" -v fd="$fd" '
		!index($0, "write(" fd ", ") { next }
		$1 != outer { by_runner++ }
		$1 == outer && by_runner { print }
		END { print by_runner " records" }' trace
	assert_output --regexp '^[1-9][0-9]* records$'
}
