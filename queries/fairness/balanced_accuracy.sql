-- Balanced accuracy: the mean of the two recalls, hence of the accuracy in each true class.
-- Undefined unless both true classes have weight.
WITH recalls AS (
    SELECT slice, label,
           sum(weight * (pred = label)::INT) / nullif(sum(weight), 0) AS recall
    FROM rows
    WHERE pred IS NOT NULL AND label IS NOT NULL
    GROUP BY slice, label
)
SELECT everyone.slice,
       CASE WHEN count(recall) = 2 THEN avg(recall) END AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN recalls ON recalls.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
