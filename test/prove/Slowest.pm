# SPDX-License-Identifier: MIT
# Slowest.pm - prove's summary, after the ten tests that took longest.
package Slowest;
use strict;
use warnings;
use TAP::Formatter::Console;
use TAP::Formatter::File;

# A file has a line for each test, a terminal also which ones run.
our @ISA = -t STDOUT ? 'TAP::Formatter::Console' : 'TAP::Formatter::File';

sub summary
{
    my ($self, $aggregate, $interrupted) = @_;
    my %took = map { my $p = ($aggregate->parsers($_))[0]; ($_ => $p->end_time - $p->start_time) }
        $aggregate->descriptions;
    my @longest = sort { $took{$b} <=> $took{$a} } keys %took;

    if (@longest > 10) {
        $self->_output("Slowest:\n");
        $self->_output(sprintf "%7.1f s  %s\n", $took{$_}, $_) for @longest[0 .. 9];
    }
    return $self->SUPER::summary($aggregate, $interrupted);
}

1;
