-- Generalised entropy index of the benefits b = 1 + prediction - label (a score serves as a soft
-- prediction): the weighted mean over rows of a convex function of b over its mean.
-- inf for alpha <= 0 where a benefit is 0; undefined where the mean benefit is 0.
WITH benefits AS (
    SELECT slice, weight AS w, 1 + coalesce(score, pred::INT) - label::INT AS b,
           sum(w * b) OVER each / sum(w) OVER each AS mean
    FROM rows
    WHERE coalesce(score, pred::INT) IS NOT NULL AND label IS NOT NULL AND weight > 0
    WINDOW each AS (PARTITION BY slice)
),
terms AS (
    SELECT slice, w, b / mean AS x, coalesce(getvariable('alpha'), 2)::DOUBLE AS alpha,
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
