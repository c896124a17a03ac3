#!/bin/sh
# Runs a command with a second machine on the link, as root:
#
#   scripts/peer.sh 1gbit target/release/oscost run --study cs736-2019 --peer ssh:peer
#
# The two machines are network namespaces of this one, joined by a virtual Ethernet of that rate
# (a token bucket filter, tbf(8), on both ends). They share its CPUs: a rate that the link limits is
# that of two machines, and a latency is not. The command runs in the first one; `ssh:peer` is the
# second one. Nothing is left behind; after kill -9 the namespaces stay: `ip netns` lists them.
set -eu
rate=$1
shift
name=oscost$$
folder=$(mktemp -d)
sshd=
command=
clean_up() {
    for pid in $command $sshd; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
    done
    for side in near peer; do ip netns del "$name-$side" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

ip netns add "$name-near"
ip netns add "$name-peer"
ip -n "$name-near" link add eth0 type veth peer name eth0 netns "$name-peer"
number=1
for side in near peer; do
    ip -n "$name-$side" addr add "10.77.0.$number/24" dev eth0
    ip -n "$name-$side" link set eth0 up
    ip -n "$name-$side" link set lo up
    # The bucket holds two packets of 64 KiB, the largest of segmentation offload; a queue of 50 ms.
    tc -n "$name-$side" qdisc add dev eth0 root tbf rate "$rate" burst 128kb latency 50ms
    number=$((number + 1))
done

ssh-keygen -q -t ed25519 -N '' -f "$folder/user"
ssh-keygen -q -t ed25519 -N '' -f "$folder/host"
printf 'peer %s\n' "$(cat "$folder/host.pub")" >"$folder/known"
cat >"$folder/ssh.conf" <<EOF
Host peer
  HostName 10.77.0.2
  HostKeyAlias peer
  User root
  IdentityFile $folder/user
  IdentitiesOnly yes
  UserKnownHostsFile $folder/known
  GlobalKnownHostsFile none
EOF
printf '#!/bin/sh\nexec ssh -F %s "$@"\n' "$folder/ssh.conf" >"$folder/ssh"
chmod 755 "$folder/ssh"
cat >"$folder/sshd.conf" <<EOF
ListenAddress 10.77.0.2
HostKey $folder/host
AuthorizedKeysFile $folder/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
EOF
mkdir -p /run/sshd
sshd_program=$(command -v sshd || echo /usr/sbin/sshd)
ip netns exec "$name-peer" setpriv --pdeathsig KILL "$sshd_program" -D -e -f "$folder/sshd.conf" \
    2>"$folder/log" &
sshd=$!
tries=50
until grep -q 'Server listening' "$folder/log"; do
    tries=$((tries - 1))
    if [ "$tries" = 0 ] || ! kill -0 "$sshd" 2>/dev/null; then
        cat "$folder/log" >&2
        exit 1
    fi
    sleep 0.1
done
# In the background, so that a signal ends the wait.
OSCOST_SSH=$folder/ssh ip netns exec "$name-near" "$@" &
command=$!
wait "$command"
