-- Views of predicted and true classes. They read `pred`, `preds`, `label` and the views of `_groups.sql`.

-- One row per row and class of its slice. `predicted`: the class is predicted somewhere in the slice.
-- `given`: it is predicted for a row of known group.
CREATE OR REPLACE TEMP VIEW class_rows AS
WITH found AS (
    SELECT slice, unnest(preds) AS class, true AS predicted, "group" IS NOT NULL AS given FROM rows
    UNION ALL
    SELECT slice, label, false, false FROM rows
),
classes AS (
    SELECT slice, class, bool_or(predicted) AS predicted, bool_or(given) AS given
    FROM found
    WHERE class IS NOT NULL
    GROUP BY slice, class
)
SELECT rows.*, class, predicted, given
FROM classes
JOIN rows ON rows.slice IS NOT DISTINCT FROM classes.slice;

-- One row per comparison (see `comparisons`) and label: the shares of the label among the labels of group a,
-- `mine`, and among those of b, `theirs`. A slice without a comparison has one row, with shares of NULL.
CREATE OR REPLACE TEMP VIEW label_mixes AS
WITH labelled AS (FROM rows WHERE label IS NOT NULL)
SELECT slice, a, b, label,
       sum(part * (side = 1)::INT) AS mine, sum(part * (side = -1)::INT) AS theirs
FROM (SELECT *, weight / sum(weight) OVER (PARTITION BY slice, a, b, side) AS part
      FROM comparisons(labelled))
GROUP BY slice, a, b, label;

-- One row per comparison, side, and row of known prediction and label on that side; only rows of true
-- classes that both sides have. `part` is the share of the row among those of its side and true class.
-- With unseen = 'uniform' a side without rows of a true class has one made-up row of it per prediction.
-- A slice without such rows has one row, of NULLs.
CREATE OR REPLACE TEMP VIEW judged AS
WITH known AS (
    FROM rows WHERE pred IS NOT NULL AND label IS NOT NULL
),
seen AS (
    SELECT slice, a, b, side, pred, label, weight FROM comparisons(known)
),
classes AS (
    SELECT DISTINCT slice, unnest([pred, label]) AS class
    FROM known
    WHERE "group" IS NOT NULL AND weight > 0
),
filled AS (
    FROM seen
    UNION ALL
    SELECT s.slice, s.a, s.b, s.side, guess.class, truth.class, 1
    FROM (SELECT DISTINCT slice, a, b, side FROM seen) AS s
    JOIN classes AS truth ON truth.slice IS NOT DISTINCT FROM s.slice
    JOIN classes AS guess ON guess.slice IS NOT DISTINCT FROM s.slice
    WHERE getvariable('unseen') = 'uniform' AND NOT EXISTS (
        FROM seen
        WHERE seen.slice IS NOT DISTINCT FROM s.slice AND seen.a = s.a AND seen.b IS NOT DISTINCT FROM s.b
            AND seen.side = s.side AND seen.label = truth.class
    )
),
judgements AS (
    SELECT slice, a, b, side, pred, label,
           weight / sum(weight) OVER (PARTITION BY slice, a, b, side, label) AS part
    FROM filled
    WINDOW truth AS (PARTITION BY slice, a, b, label)
    QUALIFY min(side) OVER truth < max(side) OVER truth
)
SELECT slices.slice, j.* EXCLUDE (slice)
FROM slices
LEFT JOIN judgements AS j ON j.slice IS NOT DISTINCT FROM slices.slice;

-- The mean of x over comparisons, or the largest with reduce = 'max'.
CREATE OR REPLACE TEMP MACRO reduced(x) AS
    CASE WHEN getvariable('reduce') = 'max' THEN max(x) ELSE avg(x) END;
