-- The part of the Theil index that lies within groups, over rows of known group: the groups' own
-- indices, weighted by their shares of all benefit; here row by row.
WITH benefits AS (
    SELECT slice, weight AS w, 1 + coalesce(score, pred::INT) - label::INT AS b,
           sum(w * b) OVER (PARTITION BY slice) / sum(w) OVER (PARTITION BY slice) AS mean,
           sum(w * b) OVER peers / sum(w) OVER peers AS group_mean
    FROM rows
    WHERE coalesce(score, pred::INT) IS NOT NULL AND label IS NOT NULL AND weight > 0
        AND "group" IS NOT NULL
    WINDOW peers AS (PARTITION BY slice, "group")
),
terms AS (
    SELECT slice, w, CASE WHEN b = 0 THEN 0 ELSE b / mean * ln(b / group_mean) END AS term
    FROM benefits
    WHERE mean > 0
)
SELECT everyone.slice, sum(w * term) / sum(w) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN terms ON terms.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
