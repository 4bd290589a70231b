-- Theil index (generalised entropy with alpha = 1) of the benefits b = 1 + prediction - label: the
-- weighted mean over rows of x ln x, where x is b over its mean. Undefined where that mean is 0.
WITH benefits AS (
    SELECT slice, weight AS w, 1 + coalesce(score, pred::INT) - label::INT AS b,
           sum(w * b) OVER each / sum(w) OVER each AS mean
    FROM rows
    WHERE coalesce(score, pred::INT) IS NOT NULL AND label IS NOT NULL AND weight > 0
    WINDOW each AS (PARTITION BY slice)
),
terms AS (
    SELECT slice, w, CASE WHEN b = 0 THEN 0 ELSE b / mean * ln(b / mean) END AS term
    FROM benefits
    WHERE mean > 0
)
SELECT everyone.slice, sum(w * term) / sum(w) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN terms ON terms.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
