-- Pearson's correlation of decision and label as numbers 0 and 1, among rows where both are known, from their
-- means. Undefined if one of them does not vary.
-- views: _groups.sql
WITH means AS (
    SELECT slice, mean_of(pred, label IS NOT NULL) AS p, mean_of(label, pred IS NOT NULL) AS y,
           mean_of(pred AND label, pred IS NOT NULL AND label IS NOT NULL) AS together
    FROM rows
    GROUP BY slice
)
SELECT slice,
       CASE WHEN p > 0 AND p < 1 AND y > 0 AND y < 1
            THEN (together - p * y) / sqrt(p * (1 - p) * y * (1 - y)) END AS value
FROM means
