-- Views of decisions. They read `pred`, `label`, `score` and the views of `_groups.sql`.

-- One row per slice and group: the true and the false positive rate, of the group and of its reference.
CREATE OR REPLACE TEMP VIEW odds AS
SELECT slice, "group",
       share(pred, own AND label) AS tpr, share(pred, own AND NOT label) AS fpr,
       share(pred, other AND label) AS ref_tpr, share(pred, other AND NOT label) AS ref_fpr
FROM beside(rows)
GROUP BY slice, "group";

-- One row or more per comparison of groups that have both rates: the distances between the true positive
-- rates and between the false positive rates. A slice without a comparison has one row, of NULLs.
CREATE OR REPLACE TEMP VIEW odds_gaps AS
WITH gaps AS (
    SELECT a.slice,
           abs(a.tpr - CASE WHEN getvariable('ref_kind') IS NULL THEN b.tpr ELSE a.ref_tpr END) AS tpr,
           abs(a.fpr - CASE WHEN getvariable('ref_kind') IS NULL THEN b.fpr ELSE a.ref_fpr END) AS fpr
    FROM odds AS a
    JOIN odds AS b
        ON b.slice IS NOT DISTINCT FROM a.slice
        AND (getvariable('ref_kind') IS NOT NULL OR b."group" <> a."group")
)
SELECT slices.slice, tpr, fpr
FROM slices
LEFT JOIN gaps ON gaps.slice IS NOT DISTINCT FROM slices.slice AND tpr + fpr IS NOT NULL;

-- One row per comparison (see `comparisons`), of rows with a known prediction: the weight n and the selection
-- rate `rate` of group a, the weight m and the selection rate `other` of b.
CREATE OR REPLACE TEMP VIEW samples AS
WITH decided AS (FROM rows WHERE pred IS NOT NULL)
SELECT slice, sum(weight) FILTER (side = 1) AS n, share(pred, side = 1) AS rate,
       sum(weight) FILTER (side = -1) AS m, share(pred, side = -1) AS other
FROM comparisons(decided)
GROUP BY slice, a, b;

-- One row per row with a known prediction and label: its weight w, its benefit b = 1 + prediction - label (a
-- score is a soft prediction), and the mean benefit of the slice. A slice without rows, or with a mean of 0,
-- has one row, of NULLs.
CREATE OR REPLACE TEMP VIEW benefits AS
WITH known AS (
    SELECT slice, weight AS w, 1 + coalesce(score, pred::INT) - label::INT AS b,
           sum(w * b) OVER each / sum(w) OVER each AS mean
    FROM rows
    WHERE b IS NOT NULL AND weight > 0
    WINDOW each AS (PARTITION BY slice)
)
SELECT slices.slice, w, b, mean
FROM slices
LEFT JOIN known ON known.slice IS NOT DISTINCT FROM slices.slice AND mean > 0;

-- One row per row of known group, prediction and label: as above, with the means over these rows alone, and
-- `group_mean`, the mean benefit of the row's group in the slice.
CREATE OR REPLACE TEMP VIEW group_benefits AS
WITH known AS (
    SELECT slice, weight AS w, 1 + coalesce(score, pred::INT) - label::INT AS b,
           sum(w * b) OVER each / sum(w) OVER each AS mean,
           sum(w * b) OVER peers / sum(w) OVER peers AS group_mean
    FROM rows
    WHERE b IS NOT NULL AND weight > 0 AND "group" IS NOT NULL
    WINDOW each AS (PARTITION BY slice), peers AS (PARTITION BY slice, "group")
)
SELECT slices.slice, w, b, mean, group_mean
FROM slices
LEFT JOIN known ON known.slice IS NOT DISTINCT FROM slices.slice AND mean > 0;

-- The term of one row in the generalised entropy index, where x is its benefit over the mean benefit.
CREATE OR REPLACE TEMP MACRO entropy_term(x, alpha) AS
    CASE WHEN alpha = 1 THEN CASE WHEN x = 0 THEN 0 ELSE x * ln(x) END
         WHEN alpha = 0 THEN -ln(x)
         ELSE (pow(x, alpha) - 1) / (alpha * (alpha - 1)) END;
