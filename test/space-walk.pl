#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# space-walk.pl SEED LENGTH [STRANDS] - random events for `tallytree replay`: objects that
# live, move through generations, and die, in several strands.
use strict;
use warnings;

my ($seed, $length, $strands) = @ARGV;
$strands //= 3;
srand $seed;
my @names = map { chr(ord('a') + $_) } 0 .. int rand 6;
my @types = ('pair', 'record', 'string', 'closure')[ 0 .. int rand 4 ];
my (%depth, %live, @ids, $next, $strand);
$next = 0;

sub enter
{
    $strand = 's' . int rand $strands;
    $depth{$strand} //= 0;
    print "strand $strand\n";
    return;
}

sub any_live { return (sort keys %live)[ rand keys %live ] }

sub collect
{
    my $generation = int rand rand 5;
    print "gc-begin $generation\n";
    for my $id (sort keys %live) {
        next if $live{$id} > $generation;
        if (rand() < 0.5) {
            delete $live{$id};
        } elsif (rand() < 0.3) {
            my $to = int rand 5;
            print "survive $id $to\n";
            $live{$id} = $to;
        } else {
            print "survive $id\n";
            $live{$id}++;
        }
        print 'tick ', int rand 3, "\n" if rand() < 0.2;
    }
    print "gc-end\n";
    return;
}

print "# seed $seed\n";
enter();
for (1 .. $length) {
    my $n = rand 100;
    if ($n < 30) {
        next if $depth{$strand} > 12;
        print "push $names[ rand @names ]\n";
        $depth{$strand}++;
    } elsif ($n < 55) {
        next unless $depth{$strand};
        print "pop\n";
        $depth{$strand}--;
    } elsif ($n < 80) {
        my $bytes = int rand 100;
        my $line  = "alloc $types[ rand @types ] $bytes " . int rand 9;
        $line .= " o$next" if rand() < 0.9;
        print "$line\n";
        $live{"o$next"} = 0 if $line =~ / o/;
        $next++;
    } elsif ($n < 88) {
        my $id = any_live() // next;
        print "free $id\n";
        delete $live{$id};
    } elsif ($n < 93) {
        print 'use ', any_live() // next, "\n";
    } elsif ($n < 96) {
        print 'tick ', int rand 20, "\n";
    } elsif ($n < 98) {
        enter();
    } else {
        collect() if rand() < 0.3;
    }
}
