-- F1: twice the weight of the rows with a positive prediction and a positive label, over the sum of the
-- weights of the positive predictions and of the positive labels, among rows where both are known.
-- n: (pred OR label) AND pred IS NOT NULL AND label IS NOT NULL
SELECT slice,
       2 * sum(weight * (pred AND label)::INT) FILTER (known)
           / nullif(sum(weight * (pred::INT + label::INT)) FILTER (known), 0) AS value
FROM (SELECT *, pred IS NOT NULL AND label IS NOT NULL AS known FROM rows)
GROUP BY slice
