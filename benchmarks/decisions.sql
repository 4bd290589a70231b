-- The decision counts and rates as one writes them by hand: count once, then read the small table.
with cells as (
    select "group", pred, label, count(*) as n
    from read_parquet($lake)
    group by all
),
counts as (
    select
        "group",
        grouping("group") as everyone,
        coalesce(sum(n) filter (pred = 1), 0)::double as selected,
        coalesce(sum(n) filter (pred is not null), 0)::double as predicted,
        coalesce(sum(n) filter (label = 1), 0)::double as positive,
        coalesce(sum(n) filter (label is not null), 0)::double as labelled,
        coalesce(sum(n) filter (pred = 1 and label = 1), 0)::double as tp,
        coalesce(sum(n) filter (pred = 1 and label = 0), 0)::double as fp,
        coalesce(sum(n) filter (pred = 0 and label = 1), 0)::double as fn,
        coalesce(sum(n) filter (pred = 0 and label = 0), 0)::double as tn
    from cells
    group by grouping sets (("group"), ())
),
rates as (
    select
        "group",
        everyone,
        selected / nullif(predicted, 0) as selection_rate,
        positive / nullif(labelled, 0) as base_rate,
        tp / nullif(tp + fn, 0) as true_positive_rate,
        fp / nullif(fp + tn, 0) as false_positive_rate,
        tn / nullif(fp + tn, 0) as true_negative_rate,
        fn / nullif(tp + fn, 0) as false_negative_rate,
        tp / nullif(tp + fp, 0) as precision,
        tn / nullif(tn + fn, 0) as negative_predictive_value,
        fp / nullif(tp + fp, 0) as false_discovery_rate,
        fn / nullif(tn + fn, 0) as false_omission_rate,
        (tp + tn) / nullif(tp + fp + fn + tn, 0) as accuracy,
        (tp / nullif(tp + fn, 0) + tn / nullif(fp + tn, 0)) / 2 as balanced_accuracy,
        2 * tp / nullif(2 * tp + fp + fn, 0) as f1
    from counts
),
gaps as (
    select
        max(selection_rate) - min(selection_rate) as stat_parity,
        min(selection_rate) / max(selection_rate) as disparate_impact,
        max(true_positive_rate) - min(true_positive_rate) as equal_opportunity,
        max(false_positive_rate) - min(false_positive_rate) as predictive_equality,
        max(false_negative_rate) - min(false_negative_rate) as fnr_difference,
        max(true_negative_rate) - min(true_negative_rate) as tnr_difference,
        max(false_omission_rate) - min(false_omission_rate) as for_difference,
        max(false_discovery_rate) - min(false_discovery_rate) as fdr_difference,
        max(precision) - min(precision) as predictive_parity,
        max(negative_predictive_value) - min(negative_predictive_value) as npv_difference,
        max(accuracy) - min(accuracy) as accuracy_difference
    from rates
    where everyone = 0 and "group" is not null
)
select
    rates.* exclude ("group", everyone),
    gaps.*,
    greatest(equal_opportunity, predictive_equality) as equalized_odds
from rates, gaps
where everyone = 1
