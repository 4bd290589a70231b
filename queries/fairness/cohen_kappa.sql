-- Agreement beyond chance: the accuracy minus the one that is expected if decision and label are independent,
-- over what it could be at most, among rows where both are known. Undefined if no more is possible.
-- views: _groups.sql
WITH means AS (
    SELECT slice, mean_of(pred = label, true) AS observed,
           mean_of(pred, label IS NOT NULL) AS p, mean_of(label, pred IS NOT NULL) AS y
    FROM rows
    GROUP BY slice
)
SELECT slice,
       CASE WHEN p <> y OR (p > 0 AND p < 1)
            THEN (observed - (p * y + (1 - p) * (1 - y))) / (1 - (p * y + (1 - p) * (1 - y))) END AS value
FROM means
