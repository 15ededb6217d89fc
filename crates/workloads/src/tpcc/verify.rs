//! Verifies the database after the load and after a run.

use super::conditions::CheckPhase;
use super::consistency::{self, InspectionResult};
use super::figures::NOTICE;
use super::rows::Table;
use super::settings::Settings;
use crate::{Error, ExecutionSummary, JobDatabase, JobResults, Result};
use trueput_record::measurement::Check;
use trueput_record::{Survival, Value, VerifyLevel};

/// The remark on a run on an engine whose read transactions see more than one state.
const NO_SNAPSHOTS: &str = "below clause 3.4: a read transaction can see several states of the \
                            database";

/// Checks the load: every cardinality and every condition.
///
/// # Errors
/// A condition that does not hold; errors of the engine.
pub(super) fn check_load(settings: &Settings, target: &JobDatabase<'_>) -> Result<()> {
    let (scale, store) = (&settings.scale, settings.store);
    let found = consistency::check(scale, store, target, CheckPhase::Loaded, VerifyLevel::Full)?;
    let mut rows = consistency::count_rows(scale, store, target)?;
    rows.insert(Table::Customer, found.counts.customers);
    rows.insert(Table::History, found.histories);
    rows.insert(Table::Order, found.counts.orders);
    rows.insert(Table::NewOrder, found.counts.new_orders);
    let mut checks = found.verdicts.checks();
    for table in Table::ALL {
        if let Some(expected) = scale.rows(table) {
            let name = format!("rows of {} (clause 4.3.3.1)", table.name());
            let found = rows.get(&table).copied().unwrap_or_default();
            checks.push(Check::equal(&name, &expected, &found));
        }
    }
    let failed = checks.iter().filter(|check| !check.passed);
    let failed: Vec<_> = failed
        .map(|Check { name, detail, .. }| format!("{name}: {detail}"))
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        let failed = failed.join("; ");
        Err(Error::Workload(format!("after the load, {failed}")))
    }
}

/// The results and checks of a run.
pub(super) fn verify(
    settings: &Settings,
    target: &JobDatabase<'_>,
    ended: &ExecutionSummary,
) -> Result<JobResults> {
    let mut conclusion = JobResults::default();
    let mut put = |name: &str, value: Value| {
        conclusion.results.insert(name.to_owned(), value);
    };
    put("notice", NOTICE.into());
    let cardinality = match settings.cardinality {
        super::scale::Cardinality::Full => "full".to_owned(),
        reduced => format!("reduced to a {}", reduced.word()),
    };
    put("cardinality", cardinality.into());
    put(
        "pacing",
        if settings.is_paced { "tpc" } else { "none" }.into(),
    );
    put("warehouses", u64::from(settings.scale.warehouses).into());
    put("store", store_of(settings, target)?.into());
    if !target.capabilities.snapshot_reads {
        put("isolation", NO_SNAPSHOTS.into());
    }
    put("rolled-back new-orders", ended.sum_of("rolled back").into());
    put("orders delivered", ended.sum_of("delivered orders").into());
    put(
        "districts that a delivery skipped",
        ended.sum_of("skipped districts").into(),
    );
    if ended.verify == VerifyLevel::Off {
        return Ok(conclusion);
    }
    let (scale, store) = (&settings.scale, settings.store);
    let found = consistency::check(scale, store, target, CheckPhase::Run, ended.verify)?;
    conclusion.checks = found.verdicts.checks();
    if ended.crashed.is_some() {
        let missing = missing(settings, ended, &found).map(|(name, count)| {
            let count = Value::from(count);
            (name.to_owned(), count)
        });
        conclusion.results.extend(missing);
    }
    let counted = match ended.crashed {
        Some(Survival::ConsistentPrefix) => no_more_than_acknowledged(settings, ended, &found),
        _ => count_checks(settings, ended, &found),
    };
    conclusion.checks.extend(counted);
    Ok(conclusion)
}

fn store_of(settings: &Settings, target: &JobDatabase<'_>) -> Result<&'static str> {
    let mut session = target.open_session()?;
    Ok(settings.store.resolved_name(&mut *session))
}

/// The number of rows that the database must have, from the load and the acknowledged commits.
fn acknowledged(settings: &Settings, ended: &ExecutionSummary) -> (u64, u64) {
    let loaded = |table| settings.scale.rows(table).unwrap_or_default();
    let orders = loaded(Table::Order) + ended.sum_of("new orders");
    (orders, loaded(Table::History) + ended.sum_of("payments"))
}

/// Counts the acknowledged rows that a crash lost.
fn missing(
    settings: &Settings,
    ended: &ExecutionSummary,
    found: &InspectionResult,
) -> [(&'static str, u64); 2] {
    let (orders, payments) = acknowledged(settings, ended);
    [
        (
            "missing_new_orders",
            orders.saturating_sub(found.counts.orders),
        ),
        ("missing_payments", payments.saturating_sub(found.histories)),
    ]
}

/// If only a prefix of the commits is promised: rows may be missing, but there are no more than
/// were acknowledged.
fn no_more_than_acknowledged(
    settings: &Settings,
    ended: &ExecutionSummary,
    found: &InspectionResult,
) -> Vec<Check> {
    let (orders, payments) = acknowledged(settings, ended);
    let check = |name: &str, acknowledged: u64, there: u64| {
        let detail = format!("{there} there, {acknowledged} acknowledged");
        Check::new(name, there <= acknowledged, detail)
    };
    let orders = check(
        "no more orders than acknowledged new-orders",
        orders,
        found.counts.orders,
    );
    let payments = check(
        "no more history than acknowledged payments",
        payments,
        found.histories,
    );
    vec![orders, payments]
}

/// Compares the workers' counts with the rows of the database.
fn count_checks(
    settings: &Settings,
    ended: &ExecutionSummary,
    found: &InspectionResult,
) -> Vec<Check> {
    let loaded = |table| settings.scale.rows(table).unwrap_or_default();
    let (acknowledged, payments) = acknowledged(settings, ended);
    let orders = found.counts.orders;
    let detail = match acknowledged.checked_sub(orders) {
        Some(0) => format!("{orders} orders"),
        Some(missing) => format!("{missing} of {acknowledged} are missing"),
        None => format!("{acknowledged} acknowledged, {orders} there"),
    };
    let mut checks = vec![
        Check::new(
            "every acknowledged new-order is there",
            orders == acknowledged,
            detail,
        ),
        Check::equal(
            "every acknowledged payment is in history",
            &payments,
            &found.histories,
        ),
    ];
    if !found.counts.is_sample {
        let undelivered = loaded(Table::NewOrder) + ended.sum_of("new orders");
        let expected = undelivered.saturating_sub(ended.sum_of("delivered orders"));
        checks.push(Check::equal(
            "every order that was not delivered is a new order",
            &expected,
            &found.counts.new_orders,
        ));
        checks.push(Check::equal(
            "every customer is there",
            &loaded(Table::Customer),
            &found.counts.customers,
        ));
    }
    checks
}
