#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# The documents: every line that README, doc/tour.md and doc/tasks.md show at a prompt is run, in the
# tour's folder, with the files that `make install` installs.  The output has the lines that
# they show, with any figures.  Files that documents name exist.  With TT_SHOTS=doc/images the
# pictures are taken of these recordings.
use strict;
use warnings;
use Cwd            qw(abs_path);
use File::Basename qw(dirname);
use File::Temp     qw(tempdir);

my $top   = abs_path(dirname(__FILE__) . '/..');
my $build = abs_path($ENV{TT_BUILD} // "$top/build");
my $tmp   = tempdir(CLEANUP => 1);
my $shots = $ENV{TT_SHOTS} && abs_path($ENV{TT_SHOTS});
my $tour  = $shots ? '/tmp/tour' : "$tmp/tour"; # as in README, because the pictures show it
my $count = 0;

sub ok
{
    my ($good, $name, @why) = @_;
    $count++;
    print $good ? 'ok' : 'not ok', " $count - $name\n";
    print STDERR map { "# $_\n" } map { split /\n/ } @why unless $good;
    return $good;
}

sub contents
{
    my ($path) = @_;
    open my $file, '<', $path or die "$path: $!\n";
    local $/;
    return scalar <$file>;
}

sub tracked { return split /\n/, `git -C '$top' ls-files '*.md' 2>/dev/null` || join "\n", glob "$top/*.md $top/doc/*.md" }

# ── README's lines ───────────────────────────────────────────────────────────────────

my $installed = "$tmp/installed/usr/local";
chdir $tmp or die;
ok(system("DESTDIR='$tmp/installed' meson install -C '$build' --no-rebuild --quiet >/dev/null") == 0, 'it is installed');
if (!-d $installed) { # configured for another place
    my ($bin) = split /\n/, `find '$tmp/installed' -name bin`;
    $installed = dirname($bin);
}
my ($library) = map { dirname($_) } split /\n/, `find '$installed' -name libtallytree.a`;
$ENV{PATH} = "$installed/bin:$ENV{PATH}";
$ENV{C_INCLUDE_PATH} = $ENV{CPLUS_INCLUDE_PATH} = "$installed/include";
$ENV{LIBRARY_PATH} = $ENV{LD_LIBRARY_PATH} = $library;

# Text that differs from run to run: figures and their units, and the width of columns.
sub shape
{
    my ($line) = @_;
    my $number = qr/(?<![\w.+])[-+]?[0-9][0-9.]*(?:–[0-9.]+)?!?(?![\w])/;
    $line =~ s{http://\S+}{URL};
    $line =~ s/libsqlite3\S*\+0x[0-9a-f]+/FUNCTION/g;
    $line =~ s/\bsqlite3\w+(?= +[0-9.]+ %)/FUNCTION/g; # of several, the one that lost most
    $line =~ s/\bsqlite3(?:RunVacuum|BtreeCopyFile)$/VACUUM/; # the second copies what the first made
    $line =~ s/$number/N/g;
    $line =~ s/\bN (sample|object)\b/N ${1}s/g;
    $line =~ s/\b(?:s|ms|µs|ns|B|KiB|MiB)\b/UNIT/g;
    $line =~ s/[─ ?]+/ /g;
    $line =~ s/^ | $//g;
    return $line;
}

# If a program is not installed, the lines of the one part that needs it may be skipped.
sub has { my ($program) = @_; return grep { -x "$_/$program" } split /:/, $ENV{PATH} }
my %needs = (
    'sqlite3|(run|heap|slow|leak|vacuum).tt' => sub { has('sqlite3') },
    'python3|(python|lines|objects).tt' => sub { system('python3 -c "import sqlite3" 2>/dev/null') == 0 },
    'tallytree tcl|tcl.tt'       => sub { -e "$library/tcltk/tallytree/libtallytree-tcl.so" },
    'tallytree lua|lua.tt'       => sub { -e "$library/tallytree/libtallytree-lua.so" && has('lua5.4') },
    'ocaml|words LICENSE'        => sub { -e "$library/ocaml/tallytree/tallytree.cmxa" },
);

sub is_possible
{
    my ($command) = @_;
    for my $need (keys %needs) {
        return 0 if $command =~ /$need/ && !$needs{$need}->();
    }
    return 1;
}

sub run
{
    my ($command, @lines) = @_;
    my $what = length $command > 70 ? substr($command, 0, 67) . '...' : $command;
    my $wanted = $command =~ /^tallytree view/ ? 124 : 0;
    $command =~ s{/usr/local/lib}{$library}g;
    $command =~ s{/tmp/tour}{$tour}g;
    $command =~ s/seq 0 999/seq 0 50 999/ unless $shots; # that many are enough here
    $command =~ s/LICENSE 8000/LICENSE 2000/ unless $shots;
    $command = "timeout 10 $command" if $wanted;
    my $folder = $command =~ /^mkdir .*tour/ ? $top : $tour;
    open my $pipe, '-|', 'bash', '-c', "cd '$folder' && { $command\n} 2>&1 </dev/null" or die;
    my @said = <$pipe>;
    close $pipe;
    my $status = $? >> 8;
    my %said = map { chomp; (shape($_) => 1) } @said;
    my @lacking = grep { $_ ne '...' && !$said{shape($_)} } @lines;
    ok($status == $wanted && !@lacking, $what, "status $status", (map { "there is no: $_" } @lacking), @said);
}

my $readme = contents("$top/README.md");
my $tour_page = contents("$top/doc/tour.md");
my $shown  = $readme . $tour_page . contents("$top/doc/tasks.md");
my $lines  = 0;
while ($shown =~ /^```console\n(.*?)^```/gms) {
    my ($command, @shown);
    for my $line (split(/\n/, $1), '$ ') {
        if ($line !~ /^\$ (.*)/) {
            push @shown, $line;
            next;
        }
        my $next = $1;
        if (defined $command && !is_possible($command)) {
            ok(1, "$command # SKIP what it needs is not here");
        } elsif (defined $command) {
            run($command, @shown);
            $lines++;
            if (my ($name, $value) = $command =~ /^export (\w+)=(\S+)$/) {
                $ENV{$name} = $value =~ s{/usr/local/lib}{$library}r;
            }
        }
        ($command, @shown) = ($next);
    }
}
ok($lines >= 15, 'README has lines to be run');
# The lines of "What else", of "More commands" and of tallytree-report(1), with files of the names that are used there.
# attach.t, top.t, serve.t, mpi.t, locks.t, machine.t, listing.t and push.t run the others.
my ($others) = $readme =~ /^## What else\n(.*?)^##/ms;
my ($more) = "$tour_page\n##" =~ /^## More commands\n(.*?)^##/ms;
my @others = map { s/ +#.*//r =~ s/^ +//r } grep { /^ *tallytree/ && !/PID|\.live|--by wait|PROGRAM|record -a|assembly|URL/ }
    split /\n/, $others . $more . example('tallytree-report.1');
my ($done, @told) = shell('for f in F a.tt b.tt recording node1/0 node2/0; do mkdir -p DIR $(dirname $f) && ' .
    './wordtree output=$f <LICENSE >log 2>&1 || exit; done', $tour);
ok($done && @others >= 10, 'what else there is has lines, too', @told);
for my $command (@others) {
    ($done, @told) = shell($command, $tour);
    ok($done, $command, @told);
}
if ($shots) {
    local @ENV{qw(TT_SHOTS TT_BUILD)} = ($shots, $build);
    ok(system("node '$top/test/pictures.mjs' $tour && rm -r $tour") == 0, 'its pictures are taken');
}
my ($program) = $tour_page =~ /^```cpp\n(.*?)^```/ms;
ok(contents("$top/examples/scopes.cpp") =~ /\Q$program\E\z/, 'the program that it shows is the example');

# example PAGE - that of a man page, as people copy it.
sub example
{
    my ($page) = @_;
    my ($text) = contents("$top/doc/man/$page") =~ /^\.SH EXAMPLES?\n\.nf\n\.RS\n(.*?)^\.RE/ms;
    return $text =~ s/\\-/-/gr =~ s/\\[e\\]/\\/gr;
}

sub shell
{
    my ($command, $folder) = @_;
    my $said = `cd '${\($folder // $tmp)}' && { $command\n} 2>&1 </dev/null`;
    return ($? == 0, "status " . ($? >> 8), $said);
}

open my $source, '>', "$tmp/example.c" or die;
print $source example('tallytree.3');
close $source;
my ($good, @said) = shell('cc -Wall -Wextra -Werror -o example example.c -ltallytree && ./example');
ok($good && $said[1] =~ /\b1\s+parse$/m, 'the example of tallytree(3) counts', @said);
($good, @said) = shell(example('tallytree-replay.1'));
ok($good && $said[1] =~ /^context\tmain;parse\tcalls=1\tself=3\t/m, 'the example of tallytree-replay(1) ticks', @said);

# ── What documents name ──────────────────────────────────────────────────────────────

for my $document (map { "$top/$_" =~ s{^\Q$top/$top\E}{$top}r } tracked()) {
    my $text = contents($document);
    my $name = $document =~ s{^\Q$top\E/}{}r;
    my @dead = grep { !/^https?:|^#/ && !-e dirname($document) . '/' . s/#.*//r } $text =~ /\]\(([^)\s]+)\)/g;
    ok(!@dead, "$name links to what is there", @dead);
    # Paths of the tree, in code or in text, and patterns for several of them.  A word in
    # capitals is a placeholder.
    my $rooms = 'adapters|base|bench|command|doc|examples|formats|functions|fuzz|heap|include|interpreters|layouts|locks|preload|profile|report|runtime|sample|serve|symbols|test|tools|unwind|web';
    my @lost = grep { my ($there) = glob "$top/$_"; !defined $there || !-e $there }
        map { s/[.,]$//r } $text =~ m{(?<![\w/.-])((?:$rooms)/(?![A-Z]+\b)[\w/.*-]*[\w*])}g;
    ok(!@lost, "$name names files that are there", @lost);
}

my $index = contents("$top/doc/README.md");
for my $document (glob "$top/doc/*.md") {
    my ($name) = $document =~ m{([^/]+)$};
    ok($name eq 'README.md' || $index =~ /\]\(\Q$name\E\)/, "the index of documents has $name");
}
chdir '/';
print "1..$count\n";
