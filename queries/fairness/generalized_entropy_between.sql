-- The part of the generalised entropy index that lies between groups: the index over rows of known
-- group, had everyone the mean benefit of their group.
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
    SELECT slice, w, group_mean / mean AS x, coalesce(getvariable('alpha'), 2)::DOUBLE AS alpha,
           CASE WHEN alpha = 1 THEN CASE WHEN x = 0 THEN 0 ELSE x * ln(x) END
                WHEN alpha = 0 THEN -ln(x)
                ELSE (pow(x, alpha) - 1) / (alpha * (alpha - 1)) END AS term
    FROM benefits
    WHERE mean > 0
)
SELECT everyone.slice, sum(w * term) / sum(w) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN terms ON terms.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
