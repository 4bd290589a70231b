-- F1: twice the rows where prediction and label are both positive, over the positives of either
-- kind (Dice's overlap of two sets), among rows where both are known.
SELECT slice,
       2 * sum(weight * (pred AND label)::INT) FILTER (known)
           / nullif(sum(weight * (pred::INT + label::INT)) FILTER (known), 0) AS value
FROM (SELECT *, pred IS NOT NULL AND label IS NOT NULL AS known FROM rows)
GROUP BY slice
