-- Views of scores. They read `score`, `label`, `exact` and the views of `_groups.sql`.

-- One row per row with a known score and label. `low` is the highest edge that is not above the score, the
-- lower edge of its bin; with exact scores, the score itself. `wide`: the bin has a width.
CREATE OR REPLACE TEMP VIEW binned AS
SELECT slice, "group", label, weight, score,
       CASE WHEN exact THEN score
            ELSE list_max(list_filter(edges, lambda e: e <= score)) END AS low,
       NOT exact AND low < list_max(edges) AS wide
FROM rows, (SELECT coalesce(getvariable('bins'),
                            list_transform(range(1001), lambda i: i / 1000))::DOUBLE[] AS edges)
WHERE score IS NOT NULL AND label IS NOT NULL AND weight > 0;

-- One row per pair of a positive and a negative row: the bins of the two, whether the positive's bin has a
-- width, and the product of their weights. A slice without a pair has rows with a weight of NULL.
CREATE OR REPLACE TEMP VIEW row_pairs AS
SELECT slices.slice, p.low AS positive, n.low AS negative, p.wide, p.weight * n.weight AS weight
FROM slices
LEFT JOIN binned AS p ON p.slice IS NOT DISTINCT FROM slices.slice AND p.label
LEFT JOIN binned AS n ON n.slice IS NOT DISTINCT FROM slices.slice AND NOT n.label;

-- One row per bin with rows: the shares of all positives (tpr) and of all negatives (fpr) that are in the
-- bin or above it, and the shares that are above it. A slice without rows has one row, of NULLs.
CREATE OR REPLACE TEMP VIEW bins AS
WITH known AS (FROM binned)
SELECT slices.slice, each.low, each.wide,
       share(r.low >= each.low, label) AS tpr, share(r.low >= each.low, NOT label) AS fpr,
       share(r.low > each.low, label) AS tpr_above, share(r.low > each.low, NOT label) AS fpr_above
FROM slices
LEFT JOIN (SELECT DISTINCT slice, low, wide FROM known) AS each
    ON each.slice IS NOT DISTINCT FROM slices.slice
LEFT JOIN known AS r ON r.slice IS NOT DISTINCT FROM each.slice
GROUP BY slices.slice, each.low, each.wide;

-- One row per comparison (see `comparisons`), side and bin: the straight piece of the side's ROC curve that
-- the bin adds, from (fpr0, tpr0) to (fpr, tpr). NULL where the side lacks positives or negatives.
CREATE OR REPLACE TEMP VIEW roc_pieces AS
WITH points AS (
    SELECT DISTINCT slice, a, b, side, low,
           sum(weight * label::INT) OVER above / nullif(sum(weight * label::INT) OVER whole, 0) AS tpr,
           sum(weight * (NOT label)::INT) OVER above
               / nullif(sum(weight * (NOT label)::INT) OVER whole, 0) AS fpr
    FROM comparisons(binned)
    WINDOW whole AS (PARTITION BY slice, a, b, side),
           above AS (PARTITION BY slice, a, b, side ORDER BY low DESC)
)
SELECT *, lag(tpr, 1, 0) OVER curve AS tpr0, lag(fpr, 1, 0) OVER curve AS fpr0
FROM points
WINDOW curve AS (PARTITION BY slice, a, b, side ORDER BY low DESC);
