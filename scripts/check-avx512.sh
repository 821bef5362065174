#!/usr/bin/env bash
# Runs the CPU engine's tests on an emulated processor that has AVX-512 VNNI.
#   scripts/check-avx512.sh [ARGS FOR THE TEST PROGRAM]
# A processor that has it runs them itself. Another emulates a whole machine (Bochs, Intel's Ice Lake),
# which boots a Linux kernel with the tests in its memory: about half an hour. That needs, by Debian's names,
# the packages bochs, bochs-term, isolinux, syslinux-common, xorriso, cpio and busybox-static, and a
# kernel that can be read: KERNEL=FILE, else the newest /boot/vmlinuz-* (linux-image-cloud-amd64; on
# Ubuntu linux-image-kvm, which only root may read).
# Exit status: 0 the tests pass; 3 something is missing (stderr says what); else they fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cannot() { echo "check-avx512: $*" >&2; exit 3; }
program() { command -v "$1" >/dev/null || cannot "no $1 on the PATH: apt-get install $2"; }
file() { [[ -r $1 ]] || cannot "no $1: apt-get install $2"; }

[[ $(uname -sm) == "Linux x86_64" ]] || cannot "this needs Linux on x86-64"
program cargo cargo
if grep -qw avx512_vnni /proc/cpuinfo; then
  exec cargo test --locked --lib -- cpu:: cpu_decoder:: "$@"
fi

bios=/usr/share/bochs/BIOS-bochs-latest
vga=/usr/share/vgabios/vgabios.bin
isolinux=/usr/lib/ISOLINUX/isolinux.bin
loader=/usr/lib/syslinux/modules/bios/ldlinux.c32
program bochs bochs
program xorriso xorriso
program cpio cpio
program busybox busybox-static
file "$bios" bochsbios
file "$vga" vgabios
file "$isolinux" isolinux
file "$loader" syslinux-common
[[ $(bochs --help cpu 2>&1) == *corei7_icelake_u* ]] || cannot "this Bochs has no corei7_icelake_u"
compgen -G '/usr/lib/*/bochs/plugins/libbx_term_gui.so' >/dev/null ||
  cannot "no display on a terminal: apt-get install bochs-term"
kernel=${KERNEL:-$(compgen -G '/boot/vmlinuz-*' | sort -V | tail -n 1)} || true
[[ -r $kernel ]] || cannot "no kernel to read: apt-get install linux-image-cloud-amd64, or KERNEL=FILE"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests=$(cargo test --locked --lib --no-run --message-format=json |
  sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
[[ -x $tests ]] || cannot "cargo named no program of tests"

# The machine's memory: the tests, the libraries that they name, and a first process that runs them.
root=$work/root
mkdir -p "$root"/{bin,dev,proc,tmp} "$work/disc"
cp "$(command -v busybox)" "$root/bin/busybox"
strip -o "$root/tests" "$tests"
ldd "$tests" | grep -o '/[^ ]*' | xargs -I{} cp -L --parents {} "$root"
printf '%s\n' cpu:: cpu_decoder:: --test-threads=1 "$@" >"$root/arguments"
cat >"$root/init" <<'END'
#!/bin/busybox sh
busybox=/bin/busybox
$busybox mount -t proc proc /proc
$busybox mount -t devtmpfs dev /dev
exec >/dev/ttyS0 2>&1
$busybox stty 115200
if $busybox grep -qw avx512_vnni /proc/cpuinfo; then
  $busybox xargs /tests </arguments
  echo "exit status $?"
fi
$busybox poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) >"$work/disc/initrd"

# What Linux must not believe of this emulated processor: sizes of saved registers that contradict each
# other with protection keys or the compact form (it would do without AVX), and fast short `rep movsb`
# without fast `rep movsb` (its memmove would run away).
cp "$kernel" "$work/disc/vmlinuz"
cp "$isolinux" "$loader" "$work/disc"
cat >"$work/disc/isolinux.cfg" <<'END'
default tests
label tests
  kernel vmlinuz
  append initrd=initrd console=ttyS0,115200 quiet nokaslr mitigations=off cryptomgr.notests clearcpuid=pku,ospke,xsaves,xsavec,fsrm
END
xorriso -as mkisofs -quiet -o "$work/disc.iso" -b isolinux.bin -c boot.cat -no-emul-boot \
  -boot-load-size 4 -boot-info-table "$work/disc" 2>"$work/xorriso.log" ||
  { cat "$work/xorriso.log" >&2; exit 1; }
cat >"$work/bochsrc" <<END
plugin_ctrl: serial=1
display_library: term
romimage: file=$bios
vgaromimage: file=$vga
cpu: model=corei7_icelake_u, ips=50000000, ignore_bad_msrs=1
memory: guest=512, host=512
ata0-master: type=cdrom, path=$work/disc.iso, status=inserted
boot: cdrom
clock: sync=none
com1: enabled=1, mode=file, dev=$work/serial
log: $work/bochs.log
panic: action=fatal
END
echo continue >"$work/commands"

# Debian's Bochs waits for its debugger's commands, and shows the screen on a terminal only. `script`
# makes one; were its input at an end, it would not notice the emulator's.
mkfifo "$work/keys"
exec 3<>"$work/keys"
echo "check-avx512: emulating" >&2
TERM=vt100 timeout 120m script -qec "bochs -q -f $work/bochsrc -rc $work/commands" /dev/null \
  <&3 >"$work/screen" 2>&1 || true
tr -d '\r' <"$work/serial" || true
grep -q '^exit status' "$work/serial" ||
  { echo "check-avx512: the tests did not end; what the emulator says last:" >&2
    tail -n 5 "$work/bochs.log" >&2; exit 1; }
grep -q '^exit status 0' "$work/serial"
