-- The part of the generalised entropy index that lies within groups, over rows of known group: the
-- groups' own indices, weighted by n_g / n times (mean_g / mean) to the power alpha, row by row.
-- A group without any benefit is equal within; else inf for alpha <= 0 where a benefit is 0.
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
    SELECT slice, w, coalesce(getvariable('alpha'), 2)::DOUBLE AS alpha,
           CASE WHEN group_mean = 0 OR b = 0 AND alpha = 1 THEN 0
                WHEN alpha = 1 THEN b / mean * ln(b / group_mean)
                WHEN alpha = 0 THEN ln(group_mean / b)
                ELSE pow(group_mean / mean, alpha) * (pow(b / group_mean, alpha) - 1)
                     / (alpha * (alpha - 1)) END AS term
    FROM benefits
    WHERE mean > 0
)
SELECT everyone.slice, sum(w * term) / sum(w) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN terms ON terms.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
