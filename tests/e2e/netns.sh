# Hosts for tests, as network namespaces: `make_hosts N` makes N of them, joined by a bridge in a namespace of its own, so that nothing
# of the machine's own network is touched. Afterwards ${hosts[@]} holds their names, host i has the address 10.77.0.(i+1) on the
# interface eth0, and $net is the namespace of the bridge, where the host's end of the cable is called p$i.
# Source lib.sh first: everything is removed at the end of the test.

hosts=()
net=

make_hosts() {
  local count=$1 i
  net=weft-$$-net
  ip netns add $net 2>"$scratch/log" || cannot_test "no network namespaces ($(cat "$scratch/log"))"
  at_end "ip netns del $net"
  ip -n $net link add br0 type bridge 2>"$scratch/log" || cannot_test "no bridges ($(cat "$scratch/log"))"
  ip -n $net link set br0 up
  for ((i = 0; i < count; i++)); do
    local host=weft-$$-$i
    hosts+=("$host")
    ip netns add $host
    at_end "ip netns del $host"
    ip -n $net link add p$i type veth peer name eth0 netns $host
    ip -n $net link set p$i master br0 up
    ip -n $host addr add 10.77.0.$((i + 1))/24 dev eth0
    ip -n $host link set eth0 up
    ip -n $host link set lo up
  done
}

joined_by() {
  local separator=$1
  shift
  local IFS=$separator
  echo "$*"
}
