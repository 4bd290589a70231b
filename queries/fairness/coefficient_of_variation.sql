-- Coefficient of variation of the benefits b = 1 + prediction - label: their (population) standard
-- deviation over their mean. Undefined where the mean is 0.
WITH benefits AS (
    SELECT slice, weight AS w, 1 + coalesce(score, pred::INT) - label::INT AS b,
           sum(w * b) OVER each / sum(w) OVER each AS mean
    FROM rows
    WHERE coalesce(score, pred::INT) IS NOT NULL AND label IS NOT NULL AND weight > 0
    WINDOW each AS (PARTITION BY slice)
)
SELECT everyone.slice,
       sqrt(sum(w * (b - mean) * (b - mean)) / sum(w)) / any_value(mean) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN benefits
    ON benefits.slice IS NOT DISTINCT FROM everyone.slice
    AND mean > 0
GROUP BY everyone.slice
