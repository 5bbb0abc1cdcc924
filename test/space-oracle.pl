#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# space-oracle.pl EVENTS - what a replay must say of objects, by brute force: every object is
# remembered with its path, and a collection looks at all of them.
#
#   all TYPE PATH FROM>TO NUMBER BYTES OVERHEAD     by all strands together
#   alive TYPE PATH GENERATION NUMBER BYTES OVERHEAD
#
# space-oracle.pl EVENTS INTERVAL LAST - what is alive at the end of each interval up to
# LAST, and at the end of all, where it is not nothing; of events in one strand:
#
#   SERIES LABEL TIME BYTES
#   SERIES LABEL end BYTES
#
# space-oracle.pl EVENTS peak - what was alive when most was for the first time:
#
#   PATH BYTES
#
# space-oracle.pl EVENTS maxima - what was alive when most was, for the first time in each part
# of the run: parts of 16 ticks at least, and eight of them at most:
#
#   TIME MOST PATH TYPE GENERATION BYTES
#
# space-oracle.pl EVENTS every-maximum - the same of parts of 16 ticks, however many.
use strict;
use warnings;

my (%object, %all, %stack, %paused, %time, $strand, $collecting);
my ($file, $interval, $last) = @ARGV;
my $unnamed = 0;
my (@change, $since);
my ($total, $most, %held, %peak) = (0, 0);
my ($clock, $part, %of_type, %maximum) = (0, -1);
$strand = 'main';

sub path { return join(';', @{ $stack{$strand} // [] }) || '[root]' }

sub note
{
    my ($o, $from, $to) = @_;
    my $row = $all{"$o->{type} $o->{path} $from>$to"} //= [0, 0, 0];
    $row->[0]++;
    $row->[1] += $o->{bytes};
    $row->[2] += $o->{overhead};
    return;
}

# see TIME - a part of sixteen ticks begins with the live objects.
sub see
{
    my ($time) = @_;
    $clock = $time if $time > $clock;
    return if $clock >> 4 <= $part;
    $part = $clock >> 4;
    $maximum{$part} = [$clock, $total, {%of_type}];
    return;
}

# live OBJECT SIGN TIME - it comes to where it is now, or leaves it.
sub live
{
    my ($o, $sign, $time) = @_;
    my $block = $o->{path} =~ s/.*;//r;
    my $n     = $sign * $o->{bytes};
    see($time);
    $held{ $o->{path} } += $n;
    $of_type{"$o->{path} $o->{type} $o->{generation}"} += $n;
    $total += $n;
    if ($total > $most) {
        $most = $total;
        %peak = %held;
    }
    $maximum{$part} = [$clock, $total, {%of_type}] if $total > $maximum{$part}[1];
    push @change, ['type', $o->{type}, $time, $n], ['generation', $o->{generation}, $time, $n],
        ['block', $block, $time, $n];
    push @change, ['use', 'INHERENT_USE', $time, $n] if $o->{unnamed};
    return;
}

sub between
{
    my ($o, $state, $from, $to) = @_;
    push @change, ['use', $state, $from, $o->{bytes}];
    push @change, ['use', $state, $to, -$o->{bytes}] if defined $to;
    return;
}

# life OBJECT DIED - nothing is known of the use of what has no name.
sub life
{
    my ($o, $died) = @_;
    return if $o->{unnamed};
    if (defined $o->{first}) {
        between($o, 'LAG',  $o->{born},  $o->{first});
        between($o, 'USE',  $o->{first}, $o->{last});
        between($o, 'DRAG', $o->{last},  $died);
    } else {
        between($o, 'VOID', $o->{born}, $died);
    }
    return;
}

sub age
{
    my ($n) = @_;
    return 'a' . ($n ? length sprintf('%b', $n) : 0);
}

my %event = (
    strand => sub { $strand = $_[0] },
    push   => sub { push @{ $stack{$strand} }, $_[0] },
    pop    => sub { pop @{ $stack{$strand} } },
    tick   => sub { $time{$strand} += $_[0] },
    pause  => sub { $paused{$strand}++ },
    resume => sub { $paused{$strand}-- },
    alloc  => sub {
        my ($type, $bytes, $overhead, $id) = @_;
        my %o = (type => $type, bytes => $bytes, overhead => $overhead, path => path(),
            generation => 0, born => $time{$strand} // 0);
        return if $paused{$strand};
        note(\%o, '-', 0);
        $o{unnamed} = !defined $id;
        live(\%o, 1, $o{born});
        $object{ $id // 'unnamed ' . $unnamed++ } = \%o;
    },
    free => sub {
        my $o = delete $object{ $_[0] } // return;
        my $age = ($time{$strand} // 0) - $o->{born};
        note($o, $o->{generation} || age($age < 0 ? 0 : $age), '-');
        live($o, -1, $time{$strand} // 0);
        life($o, $time{$strand} // 0);
    },
    'gc-begin' => sub {
        $collecting = $_[0];
        $since = $time{$strand} // 0;
        see($since);
        for my $o (values %object) {
            $o->{reached} = 0;
            live($o, -1, $since) if $o->{generation} <= $collecting;
        }
        push @{ $stack{$strand} }, '[gc]';
    },
    survive => sub {
        my ($id, $to) = @_;
        my $o = $object{$id} // return;
        $to //= $o->{generation} + 1;
        note($o, $o->{generation}, $to);
        live($o, -1, $since) if $o->{generation} > $collecting;
        $o->{generation} = $to;
        live($o, 1, $since);
        $o->{reached} = 1;
    },
    'gc-end' => sub {
        for my $id (keys %object) {
            my $o = $object{$id};
            next if $o->{generation} > $collecting || $o->{reached};
            life($o, $since);
            delete $object{$id};
        }
        pop @{ $stack{$strand} };
    },
    use => sub {
        my $o = $object{ $_[0] } // return;
        $o->{last} = $time{$strand} // 0;
        $o->{first} //= $o->{last};
    },
);

open my $in, '<', $file or die "space-oracle.pl: $file: $!\n";
while (<$in>) {
    s/#.*//;
    my ($name, @words) = split or next;
    ($event{$name} // die "space-oracle.pl: line $.: $name\n")->(@words);
}
close $in;
if (defined $interval && $interval eq 'peak') {
    print map { "$_ $peak{$_}\n" } grep { $peak{$_} } sort keys %peak;
    exit 0;
}
if (defined $interval && $interval =~ /max/) {
    my $width = 0;
    my %greatest;
    $width++ while $interval eq 'maxima' && $part >> $width >= 8;
    for my $i (sort { $a <=> $b } keys %maximum) {
        my $m = \$greatest{ $i >> $width };
        $$m = $maximum{$i} if !$$m || $maximum{$i}[1] > $$m->[1];
    }
    for my $m (grep { $_->[1] } values %greatest) {
        print "$m->[0] $m->[1] $_ $m->[2]{$_}\n" for grep { $m->[2]{$_} } keys %{ $m->[2] };
    }
    exit 0;
}
if (defined $interval) {
    my (%sum, %amount);
    life($_) for values %object;
    $sum{"$_->[0] $_->[1]"}{ int($_->[2] / $interval) } += $_->[3] for @change;
    for my $key (sort keys %sum) {
        my $amount = 0;
        for my $i (0 .. $last / $interval - 1) {
            $amount += $sum{$key}{$i} // 0;
            print "$key ", ($i + 1) * $interval, " $amount\n" if $amount;
        }
        $amount = 0;
        $amount += $_ for values %{ $sum{$key} };
        print "$key end $amount\n" if $amount;
    }
    exit 0;
}
my %alive;
for my $o (values %object) {
    my $row = $alive{"$o->{type} $o->{path} $o->{generation}"} //= [0, 0, 0];
    $row->[0]++;
    $row->[1] += $o->{bytes};
    $row->[2] += $o->{overhead};
}
print "all $_ @{ $all{$_} }\n" for sort keys %all;
print "alive $_ @{ $alive{$_} }\n" for sort keys %alive;
