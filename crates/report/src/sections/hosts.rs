//! The section on the hosts that whole repeats were given to.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use trueput_findings::ranking_hosts::{HostOrder, RankingHosts};
use trueput_findings::units::{counted, number, per_cent};

/// The most hosts that a sentence names.
const MAX_NAMED: usize = 4;

/// The hosts that whole repeats were given to.
pub(crate) struct HostBlocks;

impl Section for HostBlocks {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let rankings = input.findings.rankings.iter();
        let of_hosts = rankings.filter_map(|ranking| ranking.hosts.as_ref());
        let blocks = of_hosts.flat_map(|hosts| {
            let orders = hosts.orders.iter().map(order_sentence);
            let orders = orders.collect::<Vec<_>>().join(" ");
            [
                Block::Text(format!("{} {orders}", difference(hosts))),
                Block::Table(rate_table(hosts)),
            ]
        });
        let blocks: Vec<_> = blocks.filter_map(Block::filled).collect();
        Part::with_text("Hosts", ON_HOSTS, blocks)
    }
}

const ON_HOSTS: &str = "Whole repeats ran on these hosts, with all contenders of a repeat on the \
    same one. Ratios are taken inside a host; a rate of one host is never compared with that of \
    another.";

/// The sentence of an answer: on how many hosts the order of the first two holds, every order that
/// changes, and how far the hosts differ.
pub(crate) fn sentence(hosts: &RankingHosts) -> String {
    let first = hosts.orders.first();
    let changed = hosts.orders.iter().skip(1).filter(|order| order.changes);
    let orders = first.into_iter().chain(changed).map(order_sentence);
    let mut sentences: Vec<String> = orders.collect();
    sentences.push(difference(hosts));
    sentences.join(" ")
}

/// How far the hosts differ.
fn difference(hosts: &RankingHosts) -> String {
    let count = counted(hosts.names.len() as u64, "host");
    let names = named(&hosts.names);
    match hosts.rate_deviation {
        Some(deviation) => format!(
            "{count} ({names}), whose rates differ by {} (standard deviation).",
            per_cent(deviation)
        ),
        None => format!("{count} ({names}); the variance between them needs 2 repeats on one."),
    }
}

fn order_sentence(order: &HostOrder) -> String {
    let HostOrder {
        first,
        other,
        faster_on,
        slower_on,
        ..
    } = order;
    let of = faster_on.len() + slower_on.len();
    if order.changes {
        return format!(
            "The order changes between hosts: {first} is faster than {other} on {}, and slower on \
             {}.",
            named(faster_on),
            named(slower_on)
        );
    }
    let ratio = order.ratio_deviation.map_or_else(String::new, |deviation| {
        format!(
            "; the ratio differs by {} between hosts",
            per_cent(deviation)
        )
    });
    format!(
        "{first} is faster than {other} on {} of {}{ratio}.",
        faster_on.len(),
        counted(of as u64, "host")
    )
}

/// The names of hosts; the last ones are counted.
fn named(hosts: &[String]) -> String {
    match hosts.len() {
        0 => "none".to_owned(),
        count if count > MAX_NAMED => {
            let shown = hosts[..MAX_NAMED - 1].join(", ");
            format!("{shown} and {} more", count + 1 - MAX_NAMED)
        }
        _ => hosts.join(", "),
    }
}

fn rate_table(hosts: &RankingHosts) -> Table {
    Table::of(&hosts.rates)
        .text("contender", 0, |row| &row.contender)
        .text("host", 0, |row| &row.host)
        .figures("repeats", 1, |row| row.repeats)
        .figures("per s", 0, |row| number(row.per_s))
        .figures("of the first", 0, |row| {
            row.of_first
                .map_or_else(|| "–".to_owned(), |of| format!("{of:.3}"))
        })
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(changes: bool) -> HostOrder {
        HostOrder {
            first: "lmdb".to_owned(),
            other: "sqlite".to_owned(),
            faster_on: vec!["a".to_owned(), "b".to_owned()],
            slower_on: vec!["c".to_owned()],
            ratio_deviation: Some(0.12),
            changes,
        }
    }

    #[test]
    fn an_answer_says_on_how_many_hosts_it_holds() {
        let mut hosts = RankingHosts {
            names: ["a", "b", "c"].map(str::to_owned).to_vec(),
            rate_deviation: Some(0.3),
            orders: vec![order(false)],
            rates: Vec::new(),
        };
        let said = sentence(&hosts);
        assert!(
            said.contains("lmdb is faster than sqlite on 2 of 3 hosts"),
            "{said}"
        );
        assert!(
            said.contains("3 hosts (a, b, c), whose rates differ by 30"),
            "{said}"
        );
        hosts.orders = vec![order(true)];
        let said = sentence(&hosts);
        let expected = "The order changes between hosts: lmdb is faster than sqlite on a, b, and \
            slower on c.";
        assert!(said.contains(expected), "{said}");
    }
}
